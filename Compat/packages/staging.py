"""What all packages share: the facts of the checkout, and folders whose bytes depend on nothing else."""
import glob
import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Where the modules of the languages stand, as paths below Compat. 'README.md' and 'examples' are documentation.
MODULES = {
    "php": ["Ferry.php", "Ferry", "ApnsPHP"],
    "python": ["*.py", "ferry_apns"],
    "ruby": ["lib", "bin"],
    "perl": ["lib"],
    "node": ["ferry-apns", "apn"],
}


def source(*names):
    return os.path.join(ROOT, *names)


def read(*names):
    with open(source(*names), encoding="utf-8") as file:
        return file.read()


def fail(sentence):
    sys.exit("%s: %s" % (os.path.relpath(sys.argv[0], ROOT), sentence))


def version():
    """The version in SemVer form."""
    found = re.search(r'static let current = "(.+)"', read("Sources", "FerryCore", "Text", "Version.swift"))
    return found.group(1) if found else fail("Version.swift has no version.")


def epoch():
    """The time of every packed file: SOURCE_DATE_EPOCH, else the time of the commit."""
    if "SOURCE_DATE_EPOCH" not in os.environ:
        # Another user may own the checkout.
        command = ["git", "-c", "safe.directory=*", "-C", ROOT, "log", "-1", "--format=%ct"]
        os.environ["SOURCE_DATE_EPOCH"] = subprocess.check_output(command, text=True).strip()
    return int(os.environ["SOURCE_DATE_EPOCH"])


def changes():
    """The sections of the changelog, newest first: (version or 'Unreleased', date or None, [(heading, [text])])."""
    sections = []
    for line in read("CHANGELOG.md").splitlines():
        if found := re.fullmatch(r"## \[(.+?)\](?: - (\S+))?", line):
            sections.append((found.group(1), found.group(2), []))
        elif not sections or not line.strip():
            continue
        elif line.startswith("### "):
            sections[-1][2].append((line[4:], []))
        elif line.startswith("* ") and sections[-1][2]:
            sections[-1][2][-1][1].append(line[2:])
    return [section for section in sections if section[0] != "Unreleased" or any(texts for _, texts in section[2])]


def forget_folder(path):
    """Makes a program the same wherever it was built. Swift's hashes of modules differ with the folder, and only tools read
    them. The build ID is made of them, among others."""
    with open(path, "rb") as file:
        program = bytearray(file.read())
    sections = subprocess.check_output(["readelf", "--wide", "--section-headers", path], text=True)
    places = {name: slice(int(offset, 16), int(offset, 16) + int(size, 16)) for name, offset, size in
              re.findall(r"\] (\S+) +\S+ +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+) ", sections)}
    if hashes := places.get(".swift_modhash"):
        program[hashes] = bytes(hashes.stop - hashes.start)
    if note := places.get(".note.gnu.build-id"):
        # Three numbers of four bytes, the name "GNU", and the ID.
        identifier = slice(note.start + 16, note.stop)
        program[identifier] = bytes(identifier.stop - identifier.start)
        program[identifier] = hashlib.sha1(program).digest()[:identifier.stop - identifier.start]
    with open(path, "wb") as file:
        file.write(program)


class Folder:
    """A folder that is filled for a package. Every mode is said, and every time is the same."""

    def __init__(self, path):
        self.path = path
        os.makedirs(path)

    def place(self, name):
        path = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def copy(self, file, name, mode=0o644):
        path = self.place(name)
        shutil.copyfile(file, path)
        os.chmod(path, mode)
        return path

    def copy_all(self, folder, name, but=()):
        """Copies a folder without what it leaves out, caches and hidden files."""
        for base, folders, files in os.walk(folder):
            folders[:] = [one for one in folders if one not in but and one != "__pycache__" and not one.startswith(".")]
            for file in files:
                if file.startswith(".") or file.endswith(".pyc") or file in but:
                    continue
                path = os.path.join(base, file)
                program = os.access(path, os.X_OK)
                self.copy(path, os.path.join(name, os.path.relpath(path, folder)), 0o755 if program else 0o644)

    def write(self, text, name, mode=0o644):
        path = self.place(name)
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        os.chmod(path, mode)

    def compress(self, text, name):
        self.write(compressed(text if isinstance(text, bytes) else text.encode()), name)

    def link(self, target, name):
        os.symlink(target, self.place(name))

    def strip(self, name, library=False):
        """Takes symbols and debug information away, as debhelper does, and paths of the machine that linked it."""
        subprocess.check_call(["chrpath", "--delete", os.path.join(self.path, name)], stdout=subprocess.DEVNULL)
        unneeded = ["--strip-unneeded"] if library else []
        subprocess.check_call(["strip", *unneeded, "--remove-section=.comment", "--remove-section=.note",
                               os.path.join(self.path, name)])
        forget_folder(os.path.join(self.path, name))

    def files(self):
        """The names of all files and links, sorted."""
        names = []
        for base, folders, files in os.walk(self.path):
            links = [one for one in folders if os.path.islink(os.path.join(base, one))]
            names += [os.path.relpath(os.path.join(base, one), self.path) for one in files + links]
        return sorted(names)

    def finish(self):
        """Gives folders their mode, and everything its time. Returns self."""
        for base, folders, files in os.walk(self.path, topdown=False):
            for name in files + folders:
                os.utime(os.path.join(base, name), (epoch(), epoch()), follow_symlinks=False)
            os.chmod(base, 0o755)
        os.utime(self.path, (epoch(), epoch()))
        return self

    def pack(self, file, prefix, owners=None):
        """Writes a tar file, compressed if its name says so. `owners` has (user, group) by name; others are root's."""
        def entry(info):
            info.uid, info.gid = (owners or {}).get(os.path.relpath(info.name, prefix or "."), (0, 0))
            info.uname = info.gname = ""
            info.mtime = epoch()
            return info

        with open(file + ".new", "wb") as output:
            stream = gzip.GzipFile("", "wb", 9, output, 0) if file.endswith(".gz") else output
            with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as archive:
                if prefix:
                    archive.add(self.path, prefix, filter=entry)
                else:
                    for name in sorted(os.listdir(self.path)):
                        archive.add(os.path.join(self.path, name), name, filter=entry)
            if stream is not output:
                stream.close()
        os.replace(file + ".new", file)


def compressed(data):
    return gzip.compress(data, 9, mtime=0)


def digest(file):
    with open(file, "rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def copy_module(language, folder, name, inside=None):
    """Copies the files of a language's modules; `inside` is the one folder whose content counts."""
    for pattern in [inside + "/*"] if inside else MODULES[language]:
        for path in sorted(glob.glob(source("Compat", language, pattern))):
            target = os.path.join(name, os.path.basename(path))
            if os.path.isdir(path):
                folder.copy_all(path, target, but=["build"])
            else:
                folder.copy(path, target, 0o755 if os.access(path, os.X_OK) else 0o644)


def completions(program, folder, names):
    """Writes the completions of the command: `names` has the file for each shell."""
    for shell, name in names.items():
        script = subprocess.check_output([os.path.abspath(program), "--generate-completion-script", shell])
        # A shell reads it, and nobody starts it.
        folder.write(re.sub(rb"\A#!.*\n", b"", script).rstrip() + b"\n", name)


def pkg_config(prefix, library):
    """The description of the library for pkg-config."""
    text = read("Compat", "C", "ferry.pc")
    return text.replace("@PREFIX@", prefix).replace("@LIBDIR@", library).replace("@VERSION@", version())
