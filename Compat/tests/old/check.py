"""Tries Ferry's files and packages on a bare machine, as a user who is not root, and prints a row for each thing tried.

    check.py --rows FILE everything [--times N]
    check.py --rows FILE configuration              beside an openssl.cnf that demands what is not there
    check.py --rows FILE authorities BUNDLE         the machine's authorities are BUNDLE; "/etc/none": it has none

`.ci/old` runs it in each tree. In the home directory are bin/ferry, packages, and Compat. Rows are added to FILE.
"""
import argparse
import collections
import contextlib
import glob
import http.server
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import time

HOME = os.path.expanduser("~")
COMPAT = os.path.join(HOME, "Compat")
HERE = os.path.join(COMPAT, "tests", "old")
TOPIC = "com.example.ferry"
# Seconds. Longer than anything takes on a loaded machine.
PATIENCE = 600
# The longest time from the package file to a delivered notification.
NEW_USER = 60


class Failure(Exception):
    pass


def expect(condition, sentence):
    if not condition:
        raise Failure(sentence)


def run(command, folder=HOME, status=0, **variables):
    """Returns what a command says on both streams. Another status than the given one is a failure."""
    done = subprocess.run(command, cwd=folder, env=dict(os.environ, **variables), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, errors="replace", timeout=PATIENCE)
    if status is not None and done.returncode != status:
        raise Failure("'%s' ends with %d:\n%s" % (" ".join(command)[:300], done.returncode, done.stdout[-2000:]))
    return done.stdout


class Rows:
    def __init__(self, file):
        self.file, self.failed = file, 0

    @contextlib.contextmanager
    def row(self, title):
        """Adds a row about the body. The body may append to the list that it gets: notes for the row."""
        begin, notes = time.monotonic(), []
        try:
            yield notes
            result = "ok"
        except (Failure, OSError, ValueError, StopIteration, subprocess.SubprocessError) as failure:
            self.failed += 1
            result, notes = "FAILED", []
            print("    %s" % "\n    ".join(str(failure).splitlines()))
        text = "%-6s %5.1f s  %s%s" % (result, time.monotonic() - begin, title, "".join("; " + one for one in notes))
        print(text, flush=True)
        with open(self.file, "a") as file:
            file.write("%s %s\n" % (result, title))


class Server:
    """`ferry simulate` or `ferry gateway`, until the end of the block."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(["ferry", *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        expect(line, "ferry %s does not start." % arguments[0])
        self.ports = json.loads(line)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(PATIENCE)
        if kind is None:
            expect(status == 0, "A server of ferry ends with %d." % status)


class Simulator(Server):
    """A simulated APNs of both protocols, with a record of what it accepted."""
    number = 0

    def __init__(self, script=None):
        Simulator.number += 1
        self.record = os.path.join(HOME, "record-%d" % Simulator.number)
        self.tls = os.path.join(HOME, "tls")
        path = self.record + ".script"
        with open(path, "w") as file:
            json.dump(script or {}, file)
        super().__init__("simulate", "--http2", "0", "--binary", "0", "--tls-dir", self.tls, "--record", self.record,
                         "--script", path)

    def options(self, backend, **more):
        options = {"backend": backend, "host": "localhost", "port": self.ports[backend], "ca": self.tls + "/ca.pem",
                   "cert": self.tls + "/client.pem", "key": self.tls + "/client-key.pem"}
        options.update({"topic": TOPIC} if backend == "http2" else {"settleTime": 0.3})
        return dict(options, **more)

    def expect(self, token):
        """Waits until one notification for a token is on record."""
        end = time.monotonic() + 10
        while not self.accepted()[token] and time.monotonic() < end:
            time.sleep(0.02)
        expect(self.accepted()[token] == 1, "Nothing arrived, or too much.")

    def accepted(self):
        """How often each token was accepted. The record is complete when the simulator has ended."""
        with open(self.record) as file:
            return collections.Counter(json.loads(line)["token"] for line in file if line.endswith("\n"))


# ---- Languages ----

class Language:
    """A language: how its packages are installed from their files, and how a program runs with them."""

    def __init__(self, name, suffix, command, version):
        self.name, self.suffix, self.command = name, suffix, command
        self.folder = os.path.join(HOME, "program-" + re.sub(r"\W", "", name.lower()))
        self.version = re.search(r"\d+(\.\d+)+", run([command[0]] + version)).group()
        self.variables = {}

    def __str__(self):
        return "%s %s" % (self.name, self.version)

    def package(self, pattern):
        found = sorted(glob.glob(os.path.join(HOME, "packages", pattern)))
        expect(found, "There is no package %s." % pattern)
        return found[0]

    def install(self):
        os.mkdir(self.folder)
        getattr(self, "install_" + self.suffix)()

    def program(self, name, *arguments):
        """The command of a program in this folder."""
        path = os.path.join(self.folder, name + "." + self.suffix)
        if not os.path.exists(path):
            shutil.copy(os.path.join(HERE, name + "." + self.suffix), path)
        return self.command + [path, *arguments]

    def use(self, name, *arguments, status=0):
        return run(self.program(name, *arguments), self.folder, status, **self.variables)

    def install_py(self):
        wheels = [self.package("ferry_apns-*2014_x86_64.whl"), self.package("ferry_apns_pyapns-*.whl")]
        if self.version.startswith("2"):
            # The last pip for Python 2.7 runs in place.
            run(self.command + [self.package("pip-*.whl") + "/pip", "install", "--no-index", "--user", *wheels])
            return
        run(self.command + ["-m", "venv", self.folder])
        run([os.path.join(self.folder, "bin", "pip"), "install", "--no-index", *wheels])
        self.command = [os.path.join(self.folder, "bin", "python")]

    def install_rb(self):
        gems = [self.package("ferry-apns-[0-9]*.gem")]
        gems += [self.package("ferry-apns-%s-*.gem" % name) for name in ("houston", "grocer")]
        for gem in gems:
            run(["gem", "install", "--local", "--user-install", gem])

    def install_php(self):
        with open(os.path.join(self.folder, "composer.json"), "w") as file:
            file.write("{}")
        # There is no network.
        run(["composer", "config", "repositories.packagist", "false"], self.folder)
        for name, package in (("php", "ferry-apns"), ("apnsphp", "apnsphp")):
            run(["unzip", "-q", "-d", package, self.package("ferry-apns-%s-*.zip" % name)], self.folder)
            run(["composer", "config", "repositories." + package, "path", "./" + package], self.folder)
            run(["composer", "--no-interaction", "require", "ferry-apns/" + package], self.folder)

    def install_js(self):
        with open(os.path.join(self.folder, "package.json"), "w") as file:
            file.write('{"private": true}')
        files = [self.package("ferry-apns-[0-9]*.tgz"), self.package("ferry-apns-apn-*.tgz")]
        run(["npm", "install", "--offline", "--no-audit", "--no-fund", *files], self.folder)

    def install_pl(self):
        # cpanm installs there for a user who is not root.
        self.variables = {"PERL5LIB": os.path.join(HOME, "perl5", "lib", "perl5")}
        for pattern in ("Ferry-APNs-[0-9]*.tar.gz", "Ferry-APNs-DropIns-*.tar.gz"):
            run(["cpanm", self.package(pattern)], **self.variables)

    # The tests of the modules themselves, with the library of the portable build.

    def check(self):
        library = dict(FERRY_LIBRARY=glob.glob(os.path.join(HOME, "lib", "libferry.so.0"))[0],
                       FERRY_COMMAND=os.path.join(HOME, "bin", "ferry"))
        folder = os.path.join(COMPAT, {"py": "python", "rb": "ruby", "php": "php", "js": "node", "pl": "perl"}[self.suffix])
        command = ["./check"]
        if self.suffix == "py":
            command.append(os.path.basename(self.command[0]) if self.version.startswith("2") else "python3")
        elif self.suffix == "js":
            # There is no compiler to build the addon with.
            build = os.path.join(folder, "ferry-apns", "build", "Release")
            os.makedirs(build)
            shutil.copy(os.path.join(self.folder, "node_modules", "ferry-apns", "build", "Release", "ferry.node"), build)
            command = ["node", "tests/all.js"]
        output = run(command, folder, status=None, **library)
        counts = re.findall(r"^(\d+) passed, (\d+) failed$", output, re.M)
        expect(counts and counts[-1][1] == "0" and counts[-1][0] != "0", output[-4000:])
        return "%s passed" % counts[-1][0]

    def examples(self):
        """The examples of the drop-ins, over both protocols, with counts at both ends."""
        environment = dict(FERRY_LIBRARY=os.path.join(HOME, "lib", "libferry.so.0"),
                           FERRY_COMMAND=os.path.join(HOME, "bin", "ferry"))
        word = {"py": "python/", "rb": "ruby/", "php": "php/", "js": "node/", "pl": "perl/"}[self.suffix]
        output = run(["python3", "-B", os.path.join(COMPAT, "tests", "originals.py"), word], COMPAT, **environment)
        return output.strip().splitlines()[-1]


def languages():
    found = [Language("Python", "py", ["python3"], ["--version"])]
    if shutil.which("python2.7"):
        found.append(Language("Python", "py", ["python2.7"], ["--version"]))
        found[-1].folder += "2"
    return found + [Language("PHP", "php", ["php"], ["--version"]), Language("Ruby", "rb", ["ruby"], ["--version"]),
                    Language("Node", "js", ["node"], ["--version"]), Language("Perl", "pl", ["perl"], ["-e", "print $^V"])]


def one_line(language):
    """Sends one notification over each protocol with what was installed, and looks for it at the simulator."""
    with Simulator() as simulator:
        for number, backend in enumerate(("http2", "binary")):
            token = "00fc%060x" % number
            output = language.use("send", token, json.dumps(simulator.options(backend)))
            expect(output.startswith("accepted"), "%s over %s says %r" % (language, backend, output))
            simulator.expect(token)


# ---- Two OpenSSLs in one process ----

class Site:
    """HTTPS of the machine's own OpenSSL."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", "6")
            self.end_headers()
            self.wfile.write(b"hello\n")

        def log_message(self, *_):
            pass

    def __init__(self, tls):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tls + "/server.pem", tls + "/server-key.pem")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = "https://localhost:%d/" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def two(language, times):
    """HTTPS and pushes in one process, in both orders, in a forked child, and an exit with pushes under way."""
    under_way, before = 500, 40
    with Simulator({"http2": {"answerDelaySeconds": 0.02}}) as simulator:
        site = Site(simulator.tls)
        number = 0
        must = set()
        for turn in range(times):
            for first in ("https", "push"):
                # The seconds that libferry has for its notifications at the end of the process.
                patience = 10 if turn % 2 == 0 else 0
                options = simulator.options("binary" if turn % 4 == 3 else "http2", atExit=patience)
                tokens = ["00fc%060x" % (number + each) for each in range(before + under_way)]
                number += len(tokens)
                plan = {"first": first, "url": site.url, "ca": simulator.tls + "/ca.pem", "options": options,
                        "tokens": tokens[:before // 2], "last": tokens[before:]}
                language.use("both", json.dumps(plan), status=7)
                if patience:
                    must.update(tokens[before:])
    accepted = simulator.accepted()
    lost = [token for token in must if token not in accepted]
    doubled = [token for token in must if accepted[token] > 1]
    expect(not lost and not doubled, "At exit %d were lost and %d doubled." % (len(lost), len(doubled)))
    return "%d processes" % (2 * times)


# ---- The program ----

def gateway(client):
    """A client of this machine through the gateway: nothing may be lost, doubled or silent."""
    count, bad = 500, {57, 58, 311, 499}
    folder = os.path.join(HOME, "gateway-" + client[-1].rsplit(".", 1)[1] + os.path.basename(client[0]))
    os.mkdir(folder)
    identity = os.path.join(folder, "identity")
    run(["ferry", "identity", "new", "--topic", TOPIC, "--dir", identity])
    tokens = ["%s%060x" % ("bad0" if number in bad else "00fc", number) for number in range(count)]
    with open(os.path.join(folder, "tokens"), "w") as file:
        file.write("".join(token + "\n" for token in tokens))
    rule = {"prefix": "bad0", "status": 400, "reason": "BadDeviceToken"}
    with Simulator({"http2": {"rules": [rule]}}) as simulator:
        with open(identity + "/gateway.json") as file:
            configuration = json.load(file)
        configuration["listen"]["port"] = 0
        configuration["listen"].pop("feedbackPort", None)
        configuration["upstreams"] = {"apns": {
            "to": "localhost:%d" % simulator.ports["http2"], "ca": simulator.tls + "/ca.pem",
            "p8": simulator.tls + "/token-key.p8", "keyID": "FERRYKEY01", "teamID": "FERRYTEAM1"}}
        with open(identity + "/gateway.json", "w") as file:
            json.dump(configuration, file)
        with Server("gateway", "--config", identity + "/gateway.json") as server:
            told = run(client + [str(server.ports["binary"]), identity, folder + "/tokens"]).split()
    accepted = simulator.accepted()
    good = [token for token in tokens if token.startswith("00fc")]
    lost = [token for token in good if not accepted[token]]
    doubled = [token for token in good if accepted[token] > 1]
    expect(not lost and not doubled, "%d were lost and %d doubled." % (len(lost), len(doubled)))
    expect(sorted(told) == sorted({tokens[number] for number in bad}), "The client was told of %s." % told)


def archives(openssl):
    """Archives that the machine's OpenSSL makes, with old ciphers, open in the program and in libferry."""
    folder = os.path.join(HOME, "archives")
    os.mkdir(folder)
    legacy = ["-legacy"] if openssl >= (3,) else []
    made = 0
    with Simulator() as simulator:
        with open(folder + "/passphrase", "w") as file:
            file.write("secret\n")
        for certificate in ("PBE-SHA1-RC2-40", "PBE-SHA1-3DES"):
            for key in ("PBE-SHA1-RC2-40", "PBE-SHA1-3DES"):
                made += 1
                path = os.path.join(folder, "%d.p12" % made)
                run(["openssl", "pkcs12", "-export", *legacy, "-in", simulator.tls + "/client.pem",
                     "-inkey", simulator.tls + "/client-key.pem", "-certpbe", certificate, "-keypbe", key,
                     "-macalg", "sha1", "-out", path, "-passout", "pass:secret"])
                token = "00fc%060x" % made
                push(simulator, token, "--p12", path, "--passphrase-file", folder + "/passphrase")
        if os.path.exists(os.path.join(HOME, "program-python")):
            python = [os.path.join(HOME, "program-python", "bin", "python"), os.path.join(HERE, "send.py")]
            options = simulator.options("http2", pfx=folder + "/1.p12", passphrase="secret")
            del options["cert"], options["key"]
            output = run(python + ["00fc%060x" % 99, json.dumps(options)])
            expect(output.startswith("accepted"), "libferry says %r" % output)


def push(simulator, token, *credentials, ca=True, program="ferry"):
    """One notification by `ferry push`, over HTTP/2."""
    lines = os.path.join(HOME, "lines-" + token)
    with open(lines, "w") as file:
        file.write(json.dumps({"token": token, "payload": {"aps": {"alert": "Hello"}}}) + "\n")
    own = ["--cert", simulator.tls + "/client.pem", "--key", simulator.tls + "/client-key.pem"]
    run([program, "push", lines, "--backend", "http2", "--to", "localhost:%d" % simulator.ports["http2"], "--topic", TOPIC,
         *(["--ca", simulator.tls + "/ca.pem"] if ca else []), *(credentials or own)])
    simulator.expect(token)


def old_server():
    """A server that speaks TLS 1.0 alone: the legacy profile reaches it, and the default one does not."""
    tls = os.path.join(HOME, "tls")
    with Simulator():
        pass  # It makes the directory.
    listener = subprocess.Popen(["openssl", "s_server", "-tls1", "-cipher", "ALL:@SECLEVEL=0", "-accept", "4433", "-quiet",
                                 "-cert", tls + "/server.pem", "-key", tls + "/server-key.pem"],
                                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        doctor = ["ferry", "doctor", "localhost:4433", "--ca", tls + "/ca.pem"]
        end = time.monotonic() + PATIENCE
        while "takes connections" not in run(doctor, status=None) and time.monotonic() < end:
            time.sleep(0.1)
        expect("It speaks TLS 1.0 (" in run(doctor + ["--tls-profile", "legacy"]), "The legacy profile does not reach it.")
        expect("It speaks TLS 1.0 and nothing newer; Ferry speaks" in run(doctor, status=3), "The default profile reaches it.")
    finally:
        listener.kill()
        listener.wait()


def bare():
    """Returns words about the machine, or fails if it is not bare."""
    expect(os.getuid() != 0, "This is root.")
    for tool in ("gcc", "cc", "clang", "c++", "swift", "swiftc"):
        expect(not shutil.which(tool), "There is %s." % tool)
    expect(not glob.glob("/usr/lib/**/libswift*", recursive=True), "There are libraries of Swift.")
    return [run(["openssl", "version"]).split("(")[0].strip(), os.confstr("CS_GNU_LIBC_VERSION")]


def everything(rows, times):
    with rows.row("the machine is bare") as notes:
        notes.extend(bare())
    openssl = tuple(map(int, re.search(r"(\d+)\.(\d+)", run(["openssl", "version"])).groups()))
    with rows.row("ferry: the demo"):
        run(["ferry", "demo"])
    with rows.row("ferry: one notification"):
        with Simulator() as simulator:
            push(simulator, "00fc" + "0" * 60)
            shutil.copy(simulator.tls + "/ca.pem", HOME + "/authority.pem")
    for archive in glob.glob(os.path.join(HOME, "packages", "ferry-*-linux-x86_64.tar.gz")):
        with rows.row("ferry: installed from its archive, one notification"), Simulator() as simulator:
            begin = time.monotonic()
            run(["tar", "-xf", archive])
            run(["./install.sh", HOME + "/.local"], os.path.join(HOME, os.path.basename(archive)[:-len(".tar.gz")]))
            push(simulator, "00fc" + "3" * 60, program=HOME + "/.local/bin/ferry")
            expect(time.monotonic() - begin < NEW_USER, "That takes more than a minute.")
    installed = []
    for language in languages():
        with rows.row("%s: installed from its file, one line over HTTP/2 and binary" % language):
            begin = time.monotonic()
            language.install()
            one_line(language)
            expect(time.monotonic() - begin < NEW_USER, "That takes more than a minute.")
            installed.append(language)
    for language in installed:
        with rows.row("%s: the tests of its modules" % language) as notes:
            notes.append(language.check())
        if language.command[0] != "python2.7":
            with rows.row("%s: the examples of its drop-ins, HTTP/2 and binary" % language) as notes:
                notes.append(language.examples())
        with rows.row("%s: two OpenSSLs in one process" % language) as notes:
            notes.append(two(language, times))
    for client in (["python3", HERE + "/client.py"], ["python2.7", HERE + "/client.py"], ["php", HERE + "/client.php"]):
        if shutil.which(client[0]):
            with rows.row("the gateway, with a client in %s" % client[0]):
                gateway(client)
    with rows.row("archives with RC2-40 and Triple DES of this OpenSSL"):
        archives(openssl)
    with rows.row("a server of TLS 1.0, in the legacy profile alone"):
        old_server()


def configuration(rows):
    with rows.row("an openssl.cnf that demands what is not there: not opened, and without effect"):
        with Simulator() as simulator:
            trace = os.path.join(HOME, "trace")
            lines, token = os.path.join(HOME, "lines"), "00fc" + "1" * 60
            with open(lines, "w") as file:
                file.write(json.dumps({"token": token, "payload": {"aps": {}}}) + "\n")
            run(["strace", "-f", "-o", trace, "-e", "trace=open,openat", "ferry", "push", lines, "--backend", "http2",
                 "--to", "localhost:%d" % simulator.ports["http2"], "--topic", TOPIC, "--ca", simulator.tls + "/ca.pem",
                 "--p12", HOME + "/archives/1.p12", "--passphrase-file", HOME + "/archives/passphrase"])
            with open(trace) as file:
                text = file.read()
            expect("archives/1.p12" in text and "openssl.cnf" not in text, "ferry opens openssl.cnf.")
            simulator.expect(token)


def authorities(rows, bundle):
    title = "no authorities installed: a sentence" if bundle == "/etc/none" else "the authorities of %s are found" % bundle
    with rows.row(title):
        with Simulator() as simulator:
            if bundle == "/etc/none":
                output = run(["ferry", "doctor", "localhost:%d" % simulator.ports["http2"]], status=None)
                expect("No certificate authorities are installed" in output, output)
            else:
                push(simulator, "00fc" + "2" * 60, ca=False)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].strip())
    parser.add_argument("--rows", required=True)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("what", choices=("everything", "configuration", "authorities"))
    parser.add_argument("bundle", nargs="?")
    options = parser.parse_args()
    rows = Rows(options.rows)
    if options.what == "everything":
        everything(rows, options.times)
    elif options.what == "configuration":
        configuration(rows)
    else:
        authorities(rows, options.bundle)
    sys.exit(1 if rows.failed else 0)


main()
