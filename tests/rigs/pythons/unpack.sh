#!/usr/bin/env bash
# Unpack a CPython of Debian sid, without installing anything.
#
#   unpack.sh DIRECTORY VERSION     e.g. unpack.sh cache/pythons 3.14
#
# Afterwards DIRECTORY/VERSION/python runs it, by its own loader and its own
# libc; headers and the test suite are there, too.  What is there already is
# used again.  The machine's own apt state is only read: which mirror it uses.
set -euo pipefail

directory=$1
version=$2

# Run by its own loader, an interpreter needs its own copy of every library.
packages=(
    "python$version-minimal" "libpython$version-minimal" "libpython$version-stdlib"
    "libpython$version-testsuite" "libpython$version-dev"
    libc6 libbz2-1.0 libexpat1 libffi8 liblzma5 libsqlite3-0 libssl3t64 libuuid1 libzstd1 zlib1g
)

works() {
    "$1" -c 'import ctypes, hashlib, sqlite3, ssl, zlib' > /dev/null 2>&1
}

# $1: directory of apt's files for the suite, away from the machine's own
write_apt_configuration() {
    local mirror
    # shellcheck disable=SC2016  # apt's format, not the shell's
    mirror=$(apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(REPO_URI)' |
        awk -F '|' '$1 == "Debian" && $2 == "Debian" { print $3; exit }')
    if [ -z "$mirror" ]; then
        echo "apt knows no Debian mirror (apt-get update was never run?)" >&2
        return 1
    fi
    mkdir -p "$1/lists/partial" "$1/cache/archives/partial" "$1/sources" "$1/packages"
    cat > "$1/sources/sid.sources" <<END
Types: deb
URIs: $mirror
Suites: sid
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
    cat > "$1/apt.conf" <<END
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "$1/sources";
Dir::State::Lists "$1/lists";
Dir::State::status "/dev/null";
Dir::Cache "$1/cache";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "2";
END
}

# Lists and packages, fresh: a package that the lists name may be gone.
download() {
    rm -rf "$1/lists" "$1/packages"
    mkdir -p "$1/lists/partial" "$1/packages"
    (
        export APT_CONFIG=$1/apt.conf
        cd "$1/packages"
        apt-get -q update && apt-get -q download "${packages[@]}"
    ) > "$1/download.log" 2>&1
}

# $1: the unpacked tree.  A wrapper, so that sys.executable starts it as well.
write_wrapper() {
    cat > "$1/python" <<END
#!/bin/sh
root=\$(dirname "\$(realpath "\$0")")
export PYTHONHOME="\$root/usr"
exec "\$root/usr/lib64/ld-linux-x86-64.so.2" \\
    --library-path "\$root/usr/lib/x86_64-linux-gnu" --argv0 "\$0" \\
    "\$root/usr/bin/python$version" "\$@"
END
    chmod +x "$1/python"
}

main() {
    local apt tree
    mkdir -p "$directory"
    directory=$(realpath "$directory")
    tree=$directory/$version
    if works "$tree/python"; then
        return
    fi
    apt=$directory/$version.apt
    rm -rf "$tree" "$apt"
    mkdir -p "$apt"
    write_apt_configuration "$apt"
    if ! download "$apt" && ! download "$apt"; then
        grep -E '^(E|W|Err):?' "$apt/download.log" | tail -n 3 >&2 || true
        return 1
    fi
    mkdir "$tree"
    for package in "$apt"/packages/*.deb; do
        dpkg-deb -x "$package" "$tree"
    done
    write_wrapper "$tree"
    rm -rf "$apt"
    if ! works "$tree/python"; then
        echo "what was unpacked for Python $version does not run" >&2
        return 1
    fi
}

main
