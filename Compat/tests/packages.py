#!/usr/bin/env python3
"""Packs the modules, installs each package offline in the way of its language, and sends with what was installed.

    Compat/tests/packages.py --library FILE --licences FOLDER [LANGUAGE…]

The library is found inside the package, whatever the system has. FERRY_COMMAND is the command `ferry`.
"""
import argparse
import filecmp
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

COMPAT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(COMPAT)
TOKENS = '["00ff", "bad0"]'
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


def python(packages, folder):
    pip = [sys.executable, "-m", "pip"]
    if subprocess.run(pip + ["--version"], capture_output=True).returncode != 0:
        raise Missing("pip")
    wheels = [one(packages, "ferry_apns-*2014_x86_64.whl"), one(packages, "ferry_apns_pyapns-*.whl")]
    target = os.path.join(folder, "modules")
    run(pip + ["install", "-q", "--no-index", "--no-cache-dir", "--target", target] + wheels, folder)
    sends([sys.executable, "-c", PYTHON], folder, PYTHONPATH=target)


def ruby(packages, folder):
    needs("gem", "ruby")
    gems = [one(packages, "ferry-apns-[0-9]*.gem")] + [one(packages, "ferry-apns-%s-*.gem" % name)
                                                       for name in ("houston", "grocer")]
    default = run(["ruby", "-e", "print Gem.default_dir"], folder)
    place = {"GEM_HOME": folder, "GEM_PATH": folder + ":" + default}
    for file in gems:
        run(["gem", "install", "-q", "--local", "--no-document", file], folder, **place)
    sends(["ruby", "-w", "-e", RUBY], folder, **place)


def php(packages, folder):
    needs("php", "composer")
    composer = ["composer", "--no-interaction", "--quiet", "--no-plugins"]
    quiet = {"COMPOSER_HOME": os.path.join(folder, "home"), "COMPOSER_ALLOW_SUPERUSER": "1"}
    for name in ("php", "apnsphp"):
        shutil.unpack_archive(one(packages, "ferry-apns-%s-*.zip" % name), os.path.join(folder, name))
        run(composer + ["validate", "--strict", "--no-check-version"], os.path.join(folder, name), **quiet)
    program = os.path.join(folder, "program")
    os.mkdir(program)
    repositories = [{"type": "path", "url": "../php"}, {"type": "path", "url": "../apnsphp"}, {"packagist": False}]
    with open(os.path.join(program, "composer.json"), "w") as file:
        json.dump({"repositories": repositories, "require": {"ferry-apns/apnsphp": "*"}}, file)
    run(composer + ["install"], program, **quiet)
    with open(os.path.join(program, "program.php"), "w") as file:
        file.write(PHP)
    sends(["php", "program.php"], program)
    # PHP without FFI says so, in one sentence.
    code = "require '../php/Ferry.php';"
    done = subprocess.run(["php", "-n", "-d", "display_errors=stderr", "-r", code], cwd=program, capture_output=True, text=True)
    if "Ferry needs the extension FFI" not in done.stderr and done.returncode != 0:
        raise Failure("PHP without FFI: " + done.stderr)


def node(packages, folder):
    needs("node", "npm")
    with open(os.path.join(folder, "package.json"), "w") as file:
        file.write('{"private": true}')
    files = [one(packages, "ferry-apns-[0-9]*.tgz"), one(packages, "ferry-apns-apn-*.tgz")]
    run(["npm", "install", "--offline", "--no-audit", "--no-fund", "--silent", "--cache", os.path.join(folder, "cache")] + files,
        folder)
    sends(["node", "-e", NODE], folder)


def perl(packages, folder):
    needs("perl", "make")
    base = os.path.join(folder, "installed")
    for pattern in ("Ferry-APNs-[0-9]*.tar.gz", "Ferry-APNs-DropIns-*.tar.gz"):
        archive = one(packages, pattern)
        shutil.unpack_archive(archive, folder)
        source = os.path.join(folder, os.path.basename(archive)[:-len(".tar.gz")])
        variables = {"PERL5LIB": os.path.join(base, "lib/perl5")}
        run(["perl", "-e", "use ExtUtils::Manifest qw(fullcheck); my @all = fullcheck(); exit(grep { @$_ } @all)"], source)
        run(["perl", "Makefile.PL", "INSTALL_BASE=" + base], source, **variables)
        for target in ([], ["test"], ["install"]):
            run(["make"] + target, source, **variables)
    sends(["perl", "-w", "-e", PERL], folder, PERL5LIB=os.path.join(base, "lib/perl5"))


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
        for language, check in LANGUAGES.items():
            if options.languages and language not in options.languages:
                continue
            folder = os.path.join(top, language)
            os.mkdir(folder)
            try:
                check(packages, folder)
                passed += 1
            except Missing as tool:
                print("skipped: %s, which the packages for %s are installed with, is missing" % (tool, language))
            except Failure as failure:
                print("FAILED: the packages for %s: %s" % (language, failure))
                failed += 1
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(1 if failed else 0)


main()
