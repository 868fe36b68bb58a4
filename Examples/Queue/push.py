"""python3 push.py DSN TOKEN: adds a push to the queue, and waits for its outcome."""
import json
import secrets
import sys
import time

import psycopg2

db = psycopg2.connect(sys.argv[1])
db.autocommit = True
key = "python " + secrets.token_hex(8)
with db.cursor() as cursor:
    cursor.execute(
        "insert into ferry.push (client, key, token, payload) values ('shop', %s, %s, %s)",
        (key, sys.argv[2], json.dumps({"aps": {"alert": "Hello from Python"}})),
    )
    row = None
    while row is None:
        time.sleep(0.1)
        cursor.execute("select word, status, reason from ferry.outcome where client = 'shop' and key = %s", (key,))
        row = cursor.fetchone()
print(json.dumps(dict(zip(("word", "status", "reason"), row))))
