"""The queue: programs that fill it, and workers that are killed and stopped."""

import json
import pathlib
import signal
import subprocess
import time

from several_clients import GONE
from stage import PATIENCE, TOPIC, Program, eventually, holds

CONNECTIONS = 8
KILLS = 10
# A row whose first answer is 503.
LATER = "5030"


def configure(site, apns, batch):
    """Writes the configuration of a worker. Returns its path."""
    path = pathlib.Path(site.directory, "worker.json")
    members = {
        "store": {"postgres": site.connection(1)},
        "upstreams": {"apns": site.upstream(apns)},
        "clients": [{"name": "shop", "topics": [TOPIC]}],
        "worker": {"connections": CONNECTIONS, "batch": batch},
    }
    path.write_text(json.dumps(members))
    return str(path)


def examples(site, options):
    """The programs of `Examples/Queue` fill the queue with a role that may do nothing else, and read their outcomes."""
    apns, arrivals = site.simulate("examples", {})
    program = Program(site.ferry, "worker", "--config", configure(site, apns, 500))
    folder = pathlib.Path(__file__).parents[2] / "Examples/Queue"
    site.postgres.query((folder / "queue.sql").read_text())
    connection = site.connection(1).replace("user=ferry", "user=shop")
    # The drivers of Debian's packages are for Debian's Python.
    languages = {
        "php": ["php", "push.php", "pgsql:" + connection.replace(" ", ";")],
        "python": ["/usr/bin/python3", "push.py", connection],
        "ruby": ["ruby", "push.rb", connection],
    }
    for number, (language, command) in enumerate(languages.items()):
        command = [*command, f"{number}" * 64]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
        said = (done.stdout + done.stderr).strip()
        holds(f"{language} reads that its push is accepted", done.returncode == 0 and '"accepted"' in done.stdout, said)
    # `queue.sql` adds a push, too.
    has_each = eventually(lambda: arrivals.total() == len(languages) + 1)
    holds("APNs has each push", has_each, arrivals.total())
    program.end()
    apns.end()
    # The next scene counts its own.
    site.postgres.query("delete from ferry.outcome")


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
    configuration = configure(site, apns, batch)
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
        return Program(site.ferry, "worker", "--config", configuration)

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
