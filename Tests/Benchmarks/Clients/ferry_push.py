"""Sends with `ferry push`, whose summary has the time. The command named by FERRY is a new process for each run."""
import json
import os
import resource
import subprocess
import tempfile

import contract

ferry = os.environ["FERRY"]
found = subprocess.run([ferry, "--version"], check=True, capture_output=True, text=True).stdout.strip()
contract.presence("ferry push", found)
with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as lines:
    for number in range(contract.COUNT):
        lines.write(f'{{"token":"{contract.token(number)}","payload":{{"aps":{{"alert":"Hello"}}}}}}\n')
    lines.flush()
    command = [ferry, "push", lines.name, "--backend", "http2", "--json"]
    command += ["--to", f"{contract.HOST}:{contract.PORT}", "--ca", contract.CA, "--topic", contract.TOPIC]
    command += ["--p8", contract.KEY, "--key-id", contract.KEY_ID, "--team-id", contract.TEAM_ID]
    command += ["--streams", str(contract.AT_ONCE), "--connections", str(contract.CONNECTIONS)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    summary = json.loads(subprocess.run(command, stdout=subprocess.PIPE).stdout)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
cpu_seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
settings = f"{contract.AT_ONCE} at once, {contract.CONNECTIONS} connection{'s'[:contract.CONNECTIONS - 1]}"
contract.report("ferry push", found, settings, summary["accepted"]["confirmed"], summary["seconds"], cpu_seconds)
