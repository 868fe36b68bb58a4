"""Installs a language's folder as its README says, from a copy, and fails if that leaves files that git would list.

    Compat/tests/install.py LANGUAGE…
"""
import os
import shutil
import subprocess
import sys
import tempfile

COMPAT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# What pip, make and gem run in the folder.
COMMANDS = {
    "python": [[sys.executable, "-c", "import setuptools; setuptools.setup()", "-q", "egg_info", "build"],
               [sys.executable, "-m", "compileall", "-q", "."]],
    "perl": [["perl", "Makefile.PL"], ["make"], ["perl", "DropIns.PL"], ["make"]],
    "ruby": [["gem", "build", name + ".gemspec"] for name in ("ferry-apns", "ferry-apns-houston", "ferry-apns-grocer")],
    "node": [["./build"]],
}
NEEDED = {"python": [sys.executable, "-c", "import setuptools"], "perl": ["make", "--version"],
          "ruby": ["gem", "--version"], "node": ["cc", "--version"]}


def quietly(command, folder):
    return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def is_there(command):
    try:
        return quietly(command, COMPAT).returncode == 0
    except OSError:
        return False


def git(folder, *arguments):
    return subprocess.check_output(("git", "-c", "safe.directory=*") + arguments, cwd=folder, text=True)


def check(language):
    """Returns what was left, or None if a tool is missing."""
    if not is_there(NEEDED[language]) or not is_there(["git", "--version"]):
        return None
    with tempfile.TemporaryDirectory() as top:
        folder = os.path.join(top, language)
        ignored = shutil.ignore_patterns("build-*", "__pycache__", "*.egg-info")
        shutil.copytree(os.path.join(COMPAT, language), folder, ignore=ignored)
        git(top, "init", "-q")
        git(top, "add", "--all")
        for command in COMMANDS[language]:
            done = quietly(command, folder)
            if done.returncode != 0:
                return f"{' '.join(command)}\n{done.stdout}"
        return "".join(line for line in git(top, "status", "--porcelain").splitlines(True) if line.startswith("??"))


passed = failed = 0
for language in sys.argv[1:]:
    if language not in COMMANDS:
        continue
    left = check(language)
    if left is None:
        print(f"skipped: a tool to install {language} is missing")
    elif left:
        print(f"FAILED: installing {language} leaves\n{left}")
        failed += 1
    else:
        passed += 1
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
