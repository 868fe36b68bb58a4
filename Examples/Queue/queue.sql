-- For a superuser, once: a role for the application, which may add rows and read outcomes, and nothing else.
create role shop login password 'PASSWORD2';
grant connect on database ferry to shop;
grant usage on schema ferry to shop;
grant insert (client, key, token, payload, headers, due, expires) on ferry.push to shop;
grant select (id) on ferry.push to shop;
grant select on ferry.outcome to shop;
-- The worker's role sees when transactions of other roles began, for ferry_worker_oldest_transaction_seconds.
grant pg_read_all_stats to ferry;

-- For the application: the push is part of its own transaction, and goes only if that commits.
begin;
-- insert into orders …
insert into ferry.push (client, key, token, payload, headers, expires) values (
  'shop', 'order 4711 shipped', '00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0',
  '{"aps": {"alert": "Your order is on its way."}}', '{"pushType": "alert", "priority": 10}', now() + interval '1 day');
commit;

-- What was not accepted. Status 410 means that the device no longer has the app: let your key lead to its token, and stop
-- using that. Keep the last time that you have read in a table of yours.
select key, word, status, reason, at from ferry.outcome
  where at > now() - interval '1 hour' and client = 'shop' and word <> 'accepted' order by at;
