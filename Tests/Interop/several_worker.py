"""Workers of the queue that are killed and stopped."""

import json
import pathlib
import signal
import time

from several_clients import GONE
from stage import TOPIC, Program, eventually, holds

CONNECTIONS = 8
KILLS = 10
# A row whose first answer is 503.
LATER = "5030"


def worker(site, options):
    """Two workers empty a queue. One is killed ten times, and the other is stopped for 15 s."""
    apns, arrivals = site.simulate(
        "workers",
        {
            "answerDelaySeconds": 0.1,
            "topics": [TOPIC],
            "rules": [{"prefix": GONE, "status": 410}, {"prefix": LATER, "times": 1, "status": 503}],
        },
    )
    # The rows last for all kills.
    batch = min(500, options.rows // 400)
    configuration = pathlib.Path(site.directory, "worker.json")
    members = {
        "store": {"postgres": site.connection(1)},
        "upstreams": {"apns": site.upstream(apns)},
        "clients": [{"name": "shop", "topics": [TOPIC]}],
        "worker": {"connections": CONNECTIONS, "batch": batch},
    }
    configuration.write_text(json.dumps(members))
    query = site.postgres.query

    def insert(rows, columns):
        query(f"insert into ferry.push (client, token, payload, key, expires) select 'shop', {columns} from {rows} g")

    def left():
        return int(query("select count(*) from ferry.push"))

    def is_emptied():
        """Waits until no row is left, for as long as their number falls."""
        while before := left():
            if not eventually(lambda: left() < before):
                return False
        return True

    def start():
        return Program(site.ferry, "worker", "--config", str(configuration))

    payload = """json_build_object('aps', json_build_object('alert', repeat('x', 180)))"""
    device = "'6000' || substr(encode(sha256(g::text::bytea), 'hex'), 5)"
    workers = [start(), start()]
    # The first row is tried again across a restart.
    insert("generate_series(1, 1)", f"'{LATER}' || repeat('0', 60), {payload}, 'later', null")
    tried = "select apns_id, due from ferry.push where key = 'later' and attempts > 0"
    holds("a row waits after 503", eventually(lambda: query(tried)))
    later, waits = query(tried).split("|")
    # The next ones are refused, or have expired.
    insert("generate_series(1, 9)", f"'{GONE}' || repeat(g::text, 60), {payload}, 'gone' || g, null")
    insert("generate_series(1, 9)", f"'e0' || repeat(g::text, 62), {payload}, null, now() - interval '1 s'")
    key = "case when g % 10 = 0 then 'key' || g end"
    insert(f"generate_series(1, {options.rows})", f"{device}, {payload}, {key}, null")
    holds("both workers deliver", eventually(lambda: arrivals.total() > CONNECTIONS * batch))
    stopped = time.monotonic()
    workers[1].process.send_signal(signal.SIGSTOP)
    for _ in range(KILLS):
        before = arrivals.total()
        holds("a worker delivers", eventually(lambda: arrivals.total() > before + batch))
        workers[0].process.kill()
        workers[0].process.wait()
        workers[0] = start()
    print(f"{left()} rows are left after {KILLS} kills", flush=True)
    time.sleep(max(0, stopped + 15 - time.monotonic()))
    workers[1].process.send_signal(signal.SIGCONT)
    holds("the queue is empty", is_emptied())
    # Keys of rows that have an outcome.
    keys = options.rows // 100
    insert(f"generate_series(1, {keys})", f"{device}, {payload}, 'key' || g * 10, null")
    holds("the queue is empty again", is_emptied())
    for program in workers:
        program.end()
    apns.end()
    words = dict(line.split("|") for line in query("select word, count(*) from ferry.outcome group by 1").splitlines())
    expected = {"accepted": options.rows + 1, "rejected": 9, "expired": 9, "duplicate": keys}
    holds("each row has one outcome", {word: int(count) for word, count in words.items()} == expected, words)
    taken = sum(count > 0 for count in map(arrivals.count, list(arrivals.times)))
    holds("APNs has each accepted push, and no expired one", taken == options.rows + 1, taken)
    with open(arrivals.path) as record:
        ids = {json.loads(line)["apnsId"].lower() for line in record}
    outcomes = set(query("select apns_id from ferry.outcome where word = 'accepted'").split())
    holds("APNs has the apns-id of each accepted push", outcomes == ids)
    due = query("select at from ferry.outcome where key = 'later'")
    holds("a row with 503 comes again when it is due, with its apns-id", later in ids and due >= waits, due, waits)
    doubled = arrivals.total() - taken
    bound = (KILLS + 1) * CONNECTIONS * batch
    holds("only the batches of killed and stopped workers are doubled", doubled <= bound, f"{doubled} of {bound}")
