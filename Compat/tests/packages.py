#!/usr/bin/env python3
"""Packs the modules, and installs and sends offline as "Install, and send" of Compat/README.md says it, line by line, and
"Send" of each language's page, and once "Send without Apple".

    Compat/tests/packages.py --library FILE --licences FOLDER [LANGUAGE…]

APNs is simulated. The library is found inside the package, whatever the system has. FERRY_COMMAND is the command `ferry`.
"""
import argparse
import collections
import filecmp
import glob
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile

COMPAT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(COMPAT)
TOKENS = '["00ff", "bad0"]'
# The section whose lines are run. A block stands below the language's heading.
SECTION = "Install, and send"
# The programs that stand for the user's, by a word of the block that installs their drop-in.
PROGRAMS = {
    "ferry_apns_pyapns": ["python/examples/pyapns.py"], "houston": ["ruby/examples/houston.rb"],
    "grocer": ["ruby/examples/grocer.rb"], "apnsphp": ["php/examples/apnsphp.php"], "ferry-apns-apn-": ["node/examples/apn.js"],
    "DropIns": ["perl/examples/net-apns.pl", "perl/examples/net-apns-extended.pl", "perl/examples/anyevent-apns.pl"],
}
# Their libraries cannot tell a rejection.
SILENT = ("grocer.rb", "net-apns.pl")
# A package's file on a page.
FILE = r"\b[Ff]erry(?:[_-][A-Za-z_]+)*-\d+(?:\.\d+)+[\w.-]*\.(?:whl|gem|zip|tgz|tar\.gz)\b"
# What each program prints: a sentence for each token, and then whether the library that it loaded is inside the package.
EXPECTED = ["accepted (confirmed)", "rejected: BadDeviceToken (400). ", "inside"]

PYTHON = """
import ferry, ferry_apns, apns
for answer in ferry_apns.push(%s, {"aps": {}}, backend="echo"): print(answer)
print("inside" if "ferry_apns/libferry.so.0" in open("/proc/self/maps").read() and ferry is ferry_apns else "elsewhere")
apns.Payload(alert="Hello")
""" % TOKENS
RUBY = """
require 'ferry'
puts Ferry.push(%s, { aps: {} }, backend: 'echo')
puts File.read('/proc/self/maps').include?('/lib/ferry/libferry.so.0') ? 'inside' : 'elsewhere'
require 'houston'
require 'grocer'
Houston::Notification.new
Grocer::Notification.new(device_token: '00ff', alert: 'Hello')
""" % TOKENS
PHP = """<?php
require 'vendor/autoload.php';
foreach (Ferry\\push(%s, ['aps' => []], ['backend' => 'echo']) as $answer) echo $answer, "\\n";
echo strpos(file_get_contents('/proc/self/maps'), '/Ferry/libferry.so.0') ? 'inside' : 'elsewhere', "\\n";
foreach (['ApnsPHP_Message', 'ApnsPHP_Push', 'ApnsPHP_Push_Server', 'ApnsPHP_Feedback'] as $name) class_exists($name) or exit(1);
""" % TOKENS
NODE = """
const ferry = require("ferry-apns");
ferry.push(%s, { aps: {} }, { backend: "echo" }).then((answers) => {
  for (const answer of answers) console.log(String(answer));
  const maps = require("fs").readFileSync("/proc/self/maps", "utf8");
  console.log(maps.includes("/ferry-apns/libferry.so.0") ? "inside" : "elsewhere");
  new (require("apn").Notification)();
});
""" % TOKENS
PERL = """
use Ferry;
use Net::APNs::Extended;
print "$_\\n" for Ferry->push(%s, { aps => {} }, backend => 'echo');
open my $maps, '<', '/proc/self/maps' or die;
print scalar(grep { m{/Ferry/libferry[.]so[.]0} } <$maps>) ? 'inside' : 'elsewhere', "\\n";
""" % TOKENS


class Failure(Exception):
    pass


class Missing(Exception):
    pass


def run(command, folder, **variables):
    """Returns standard output. The environment names no library, and no folder of the checkout."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("FERRY_") or name == "FERRY_COMMAND"}
    environment.update(variables)
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise Failure("%s\n%s%s" % (" ".join(command), done.stdout, done.stderr))
    return done.stdout


def sends(command, folder, **variables):
    lines = run(command, folder, **variables).splitlines()
    if len(lines) != len(EXPECTED) or not all(line.startswith(start) for line, start in zip(lines, EXPECTED)):
        raise Failure("%s prints %s" % (" ".join(command[:1]), lines))


def needs(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise Missing(tool)


def one(packages, pattern):
    return next(path for path in sorted(glob.glob(os.path.join(packages, pattern))))


def page(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def section(text, mark, title):
    """What stands below a heading."""
    return re.search(r"^%s %s\n(.*?)(?=^#{1,%d} |\Z)" % (mark, re.escape(title), len(mark)), text, re.M | re.S).group(1)


def check_names(packed):
    """The pages name files that are packed, Compat/README.md each of them, and the README installs as that page does."""
    version = json.loads(page("Compat/node/ferry-apns/package.json"))["version"]
    packed = set(packed) | {"ferry-%s-linux-x86_64.tar.gz" % version}
    pages = ["README.md"] + sorted(os.path.relpath(path, ROOT) for path in glob.glob(os.path.join(COMPAT, "**/*.md"),
                                                                                     recursive=True))
    for name in pages:
        unknown = sorted(set(re.findall(FILE, page(name))) - packed)
        if unknown:
            raise Failure("%s names %s, and nothing makes it" % (name, ", ".join(unknown)))
    # The second name of a wheel is for pip 9.
    missing = sorted(name for name in packed - set(re.findall(FILE, page("Compat/README.md"))) if ".linux_x86_64." not in name)
    if missing:
        raise Failure("Compat/README.md does not name %s" % ", ".join(missing))
    commands = re.findall(r"`((?:pip|gem|unzip|npm|cpanm|tar) [^`]+)`", section(page("README.md"), "##", "Install"))
    other = [command for command in commands if "\n%s\n" % command not in page("Compat/README.md")]
    if len(commands) < 6 or other:
        raise Failure("README.md has %s, and Compat/README.md has other lines" % (other or commands))


class Simulator:
    """`ferry simulate`, and what programs need to send there."""

    def __init__(self, folder):
        self.folder = folder
        os.mkdir(folder)
        self.write("script", '{"http2": {"rules": [{"prefix": "bad0"}]}}')
        command = [os.environ.get("FERRY_COMMAND", "ferry"), "simulate", "--http2", "0", "--tls-dir", self.path("tls"),
                   "--script", self.path("script"), "--record", self.path("record")]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        port = json.loads(self.process.stdout.readline())["http2"]
        authority = self.path("tls/ca.pem")
        with open(self.path("tls/client.pem")) as certificate, open(self.path("tls/client-key.pem")) as key:
            self.write("client.pem", certificate.read() + key.read())
        self.write("config", json.dumps({"backend": "http2", "host": "localhost", "port": port, "ca": authority}))
        self.module = {"FERRY_HOST": "localhost", "FERRY_PORT": str(port), "FERRY_CA": authority,
                       "FERRY_TOPIC": "com.example.ferry", "FERRY_P8": self.path("tls/token-key.p8"),
                       "FERRY_KEY_ID": "FERRYKEY01", "FERRY_TEAM_ID": "FERRYTEAM1"}
        self.drop_in = {"FERRY_CONFIG": self.path("config"), "CERT": self.path("client.pem"), "TOKENS": self.path("tokens")}
        self.sent = collections.Counter()

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)

    def end(self):
        self.process.terminate()
        self.process.wait()

    def judge(self):
        """Fails unless everything arrived that was sent, and once."""
        with open(self.path("record")) as file:
            accepted = collections.Counter(json.loads(line)["token"] for line in file)
        if accepted != self.sent:
            raise Failure("sent %s, and accepted were %s" % (dict(self.sent), dict(accepted)))


def follow(language, packages, folder, simulator, **variables):
    """Runs the blocks of a language, in a folder that has the packages. Each must send."""
    for name in os.listdir(packages):
        os.link(os.path.join(packages, name), os.path.join(folder, name))
    below = section(section(page("Compat/README.md"), "##", SECTION), "###", language)
    for block in re.findall(r"^```\n(.*?)^```$", below, re.M | re.S):
        programs = next((paths for word, paths in PROGRAMS.items() if word in block), [])
        if not programs:
            (token,) = set(re.findall(r"\b[0-9a-f]{64}\b", block))
            output = run(["bash", "-euc", block], folder, **variables, **simulator.module)
            if output.splitlines()[-1] != "accepted (confirmed)":
                raise Failure("%s\nprints %s" % (block, output))
            simulator.sent[token] += 1
        for number, program in enumerate(programs):
            shutil.copy(os.path.join(COMPAT, program), os.path.join(folder, "push" + os.path.splitext(program)[1]))
            good, bad = ("%s%060x" % (prefix, len(simulator.sent)) for prefix in ("00fc", "bad0"))
            simulator.write("tokens", "%s\n%s\n" % (good, bad))
            # A package is installed once.
            lines = block if number == 0 else block.splitlines()[-1]
            output = run(["bash", "-euc", lines], folder, **variables, **simulator.drop_in)
            told = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
            expected = [] if program.endswith(SILENT) else [{"token": bad, "status": 8}]
            if told != expected:
                raise Failure("%s\nwith %s prints %s" % (block, program, output))
            simulator.sent[good] += 1
    send_without_server(language, folder, **variables)


def send_without_server(language, folder, **variables):
    """Runs "Send" of the language's page, from its settings to the line that needs no server."""
    below = section(page("Compat/%s/README.md" % language.lower()), "##", "Send")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", below, re.M | re.S)
    (code,) = (text for tag, text in blocks if tag)
    lines = "".join(text for tag, text in blocks if not tag)
    with open(os.path.join(folder, lines.split()[-1]), "w", encoding="utf-8") as file:
        file.write(code)
    output = run(["bash", "-euc", lines], folder, **variables)
    if output != "accepted (confirmed)\n":
        raise Failure("%s\nprints %s" % (lines, output))


def send_without_apple(line, folder, **variables):
    """Runs "Send without Apple", with a free port, and then the line of a module. The command `ferry` is in PATH there."""
    tools = os.path.join(folder, "tools")
    os.mkdir(tools)
    os.symlink(shutil.which(os.environ.get("FERRY_COMMAND", "ferry")), os.path.join(tools, "ferry"))
    variables["PATH"] = tools + ":" + variables["PATH"]
    with socket.create_server(("localhost", 0)) as server:
        port = server.getsockname()[1]
    (block,) = re.findall(r"^```\n(.*?)^```$", section(page("Compat/README.md"), "##", "Send without Apple"), re.M | re.S)
    lines = "trap 'kill %%1' EXIT\n%s%s\n" % (block.replace("2197", str(port)), line)
    output = run(["bash", "-euc", lines], folder, **variables)
    if output.splitlines() != ['{"http2":%d}' % port, "accepted (confirmed)"]:
        raise Failure("%s\nprints %s" % (lines, output))


def python(packages, folder, simulator):
    if subprocess.run([sys.executable, "-c", "import ensurepip, venv"], capture_output=True).returncode != 0:
        raise Missing("python3-venv")
    # The first line of the page makes the environment.
    programs = os.path.join(folder, "ferry", "bin")
    offline = {"PIP_NO_INDEX": "1", "PIP_NO_CACHE_DIR": "1", "HOME": folder, "PATH": programs + ":" + os.environ["PATH"]}
    follow("Python", packages, folder, simulator, **offline)
    (line,) = re.findall(r"^python -c .*$", section(page("Compat/README.md"), "##", SECTION), re.M)
    send_without_apple(line, folder, **offline)
    sends([os.path.join(programs, "python"), "-c", PYTHON], folder)


def ruby(packages, folder, simulator):
    needs("gem", "ruby")
    default = run(["ruby", "-e", "print Gem.default_dir"], folder)
    with open(os.path.join(folder, "gemrc"), "w") as file:
        file.write("gem: --no-document\n")
    place = {"GEM_HOME": folder, "GEM_PATH": folder + ":" + default, "GEMRC": os.path.join(folder, "gemrc")}
    follow("Ruby", packages, folder, simulator, **place)
    sends(["ruby", "-w", "-e", RUBY], folder, **place)


def php(packages, folder, simulator):
    needs("php", "composer", "unzip")
    home = os.path.join(folder, "home")
    os.mkdir(home)
    for name, text in (("home/config.json", '{"repositories": [{"packagist.org": false}]}'), ("composer.json", "{}")):
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
    quiet = {"COMPOSER_HOME": home, "COMPOSER_ALLOW_SUPERUSER": "1", "COMPOSER_NO_INTERACTION": "1"}
    follow("PHP", packages, folder, simulator, **quiet)
    # ApnsPHP with Composer.
    (lines,) = (block for block in re.findall(r"^```\n(.*?)^```$", section(page("Compat/php/README.md"), "##", "Install"),
                                              re.M | re.S) if "require ferry-apns/apnsphp" in block)
    run(["bash", "-euc", lines], folder, **quiet)
    for name in ("ferry-apns", "ferry-apnsphp"):
        run(["composer", "--quiet", "validate", "--strict", "--no-check-version"], os.path.join(folder, name), **quiet)
    with open(os.path.join(folder, "program.php"), "w") as file:
        file.write(PHP)
    sends(["php", "program.php"], folder)
    # PHP without FFI says so, in one sentence.
    code = "require 'ferry-apns/Ferry.php';"
    done = subprocess.run(["php", "-n", "-d", "display_errors=stderr", "-r", code], cwd=folder, capture_output=True, text=True)
    if "Ferry needs the extension FFI" not in done.stderr and done.returncode != 0:
        raise Failure("PHP without FFI: " + done.stderr)


def node(packages, folder, simulator):
    needs("node", "npm")
    with open(os.path.join(folder, "package.json"), "w") as file:
        file.write('{"private": true}')
    offline = {"npm_config_" + name: value for name, value in (("offline", "true"), ("audit", "false"), ("fund", "false"),
                                                              ("cache", os.path.join(folder, "cache")))}
    follow("Node", packages, folder, simulator, **offline)
    sends(["node", "-e", NODE], folder)


def perl(packages, folder, simulator):
    needs("perl", "make", "cpanm")
    for pattern in ("Ferry-APNs-[0-9]*.tar.gz", "Ferry-APNs-DropIns-*.tar.gz"):
        archive = one(packages, pattern)
        shutil.unpack_archive(archive, folder)
        source = os.path.join(folder, os.path.basename(archive)[:-len(".tar.gz")])
        run(["perl", "-e", "use ExtUtils::Manifest qw(fullcheck); my @all = fullcheck(); exit(grep { @$_ } @all)"], source)
    # The folder that cpanm takes without root, and that the page names.
    base = os.path.join(folder, "perl5")
    # cpanm runs the tests of a package before it installs it.
    place = {"PERL_CPANM_OPT": "--local-lib " + base, "HOME": folder, "PERL5LIB": os.path.join(base, "lib/perl5")}
    follow("Perl", packages, folder, simulator, **place)
    sends(["perl", "-w", "-e", PERL], folder, **place)


LANGUAGES = {"python": python, "ruby": ruby, "php": php, "node": node, "perl": perl}


def pack(root, options, folder):
    command = [os.path.join(root, "Compat/packages/languages"), "--trial", "--library", options.library,
               "--licences", options.licences, folder]
    subprocess.check_call(command, env=dict(os.environ, SOURCE_DATE_EPOCH="1700000000"))
    return folder


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].strip())
    parser.add_argument("--library", required=True)
    parser.add_argument("--licences", required=True)
    parser.add_argument("languages", nargs="*")
    options = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as top:
        packages = pack(ROOT, options, os.path.join(top, "packages"))
        copy = os.path.join(top, "a folder of another name")
        ignored = shutil.ignore_patterns("__pycache__", "node_modules", "blib", ".*")
        for name in ("Compat", "Sources/FerryCore/Text", "Tests/FerryCTests"):
            shutil.copytree(os.path.join(ROOT, name), os.path.join(copy, name), ignore=ignored)
        shutil.copy(os.path.join(ROOT, "LICENSE"), copy)
        again = pack(copy, options, os.path.join(top, "again"))
        names = sorted(os.listdir(packages))
        _, differ, errors = filecmp.cmpfiles(packages, again, names, shallow=False)
        if differ or errors:
            print("FAILED: packed in a folder of another name, these differ: %s" % ", ".join(differ + errors))
            failed += 1
        else:
            passed += 1
        try:
            check_names(names)
            passed += 1
        except Failure as failure:
            print("FAILED: the names of files on pages: %s" % failure)
            failed += 1
        for language, check in LANGUAGES.items():
            if options.languages and language not in options.languages:
                continue
            folder = os.path.join(top, language)
            os.mkdir(folder)
            simulator = Simulator(os.path.join(top, language + "-simulator"))
            try:
                try:
                    check(packages, folder, simulator)
                finally:
                    simulator.end()
                simulator.judge()
                passed += 1
            except Missing as tool:
                print("skipped: %s, which the packages for %s are installed with, is missing" % (tool, language))
            except Failure as failure:
                print("FAILED: the packages for %s: %s" % (language, failure))
                failed += 1
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(1 if failed else 0)


main()
