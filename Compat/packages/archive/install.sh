#!/bin/sh
# Installs Ferry below a directory, or removes it from there. No root is needed if the directory is yours.
#
#   ./install.sh PREFIX             such as /usr/local, or $HOME/.local
#   ./install.sh --remove PREFIX    removes what was installed, and nothing else
#
# A newer version goes over an older one. Programs that run keep the files that they have opened.
set -eu
# The order of the lists that are compared.
export LC_ALL=C

usage() {
    sed -n '4,5s/^# *//p' "$0" >&2
    exit 2
}
fail() {
    echo "install.sh: $1" >&2
    exit 1
}

mode=install
if [ "${1:-}" = --remove ]; then
    mode=remove
    shift
fi
[ $# -eq 1 ] || usage
case $1 in
-* | '') usage ;;
/*) prefix=${1%/} ;;
*) prefix=$PWD/${1%/} ;;
esac
# They would end the replacements of sed, or a line of a unit.
case $prefix in *'|'* | *'&'* | *'\'* | *' '*) fail "the prefix may not have any of: | & \\ space." ;; esac
listed=$prefix/share/ferry/FILES

# remove_files LIST: removes the files of the list, and the directories that are empty then.
remove_files() {
    while IFS= read -r file; do
        case $file in /* | *..*) fail "$1 is damaged." ;; esac
        rm -f "$prefix/$file"
        directory=$(dirname "$file")
        while [ "$directory" != . ] && rmdir "$prefix/$directory" 2>/dev/null; do
            directory=$(dirname "$directory")
        done
    done <"$1"
}

if [ "$mode" = remove ]; then
    [ -e "$listed" ] || fail "Ferry is not installed in $prefix."
    list=$(mktemp)
    trap 'rm -f "$list"' EXIT
    cp "$listed" "$list"
    echo share/ferry/FILES >>"$list"
    remove_files "$list"
    exit 0
fi

cd "$(dirname "$0")"
[ "$(uname -s) $(uname -m)" = "Linux x86_64" ] || fail "this archive is for Linux on x86_64, not for $(uname -sm)."
# The program's own words are about the loader: it is missing where the system has another C library.
[ -e /lib64/ld-linux-x86-64.so.2 ] ||
    fail "Ferry needs glibc, and this system has another C library, as Alpine does. Use a gateway on another machine."
sha256sum --check --quiet SHA256SUMS || fail "the archive is damaged: fetch it again."
mkdir -p "$prefix" 2>/dev/null && [ -w "$prefix" ] ||
    fail "you may not write to $prefix: choose another prefix, such as \$HOME/.local, or be root."

old=$(mktemp)
trap 'rm -f "$old"' EXIT
[ ! -e "$listed" ] || sort "$listed" | comm -23 - FILES >"$old"
while IFS= read -r file; do
    target=$prefix/$file
    mkdir -p "$(dirname "$target")"
    # A program that runs keeps the file that it has: the new one takes the name only.
    rm -f "$target.new"
    case $file in
    lib/pkgconfig/*.pc) sed "s|@PREFIX@|$prefix|" "$file" >"$target.new" ;;
    share/ferry/systemd/*) sed "s|/usr/bin/ferry|$prefix/bin/ferry|" "$file" >"$target.new" ;;
    *) cp -P -p "$file" "$target.new" ;;
    esac
    mv -f "$target.new" "$target"
done <FILES
mkdir -p "$prefix/share/ferry"
cp FILES "$listed.new"
mv "$listed.new" "$listed"
remove_files "$old"

if ! "$prefix/bin/ferry" --version >/dev/null; then
    fail "$prefix/bin/ferry does not run on this system."
fi
echo "Ferry $("$prefix/bin/ferry" --version) is installed in $prefix."
case :$PATH: in
*:"$prefix/bin":*) ;;
*) echo "  the command:  PATH=$prefix/bin:\$PATH" ;;
esac
# Only root can tell the system's loader about a directory.
if [ "$(id -u)" -eq 0 ] && command -v ldconfig >/dev/null; then
    ldconfig
fi
if ! { ldconfig -p 2>/dev/null || /sbin/ldconfig -p 2>/dev/null || true; } | grep -qF "$prefix/lib/libferry.so.0"; then
    echo "  the library:  export FERRY_LIBRARY=$prefix/lib/libferry.so.0"
fi
[ ! -e "$prefix/share/ferry/node" ] || echo "  Node:         export NODE_PATH=$prefix/share/ferry/node"
cat <<END
  Python:       export PYTHONPATH=$prefix/share/ferry/python
  Ruby:         export RUBYLIB=$prefix/share/ferry/ruby/lib
  PHP:          php -d include_path=$prefix/share/ferry/php
  Perl:         export PERL5LIB=$prefix/share/ferry/perl/lib
  systemd:      $prefix/share/ferry/systemd
  pages:        $prefix/share/doc/ferry/README.md
END
