#!/usr/bin/env bash
# Run the tests on Pythons newer than those that the machine has.
#
#   run.sh VERSION... [-- PYTEST-ARGUMENT...]    e.g. run.sh 3.14 3.15
#   Paths for pytest are absolute; without any argument, all tests run.
#
# Each is unpacked (unpack.sh), the extension is built with its headers, and
# the tests run with pytest and hypothesis from a directory of their own.
# Results are kept in $SPEEDCOPY_CACHE.  A Python that cannot be had is said
# to be NOT RUN, with the reason, and is no failure.
set -euo pipefail

here=$(dirname "$(realpath "$0")")
root=$(realpath "$here/../../..")
cache=${SPEEDCOPY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/speedcopy-c}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

versions=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    versions+=("$1")
    shift
done
if [ $# -gt 0 ]; then
    shift
fi
if [ $# -eq 0 ]; then
    set -- "$root/tests"
fi

not_run() {
    printf 'NOT RUN: Python %s: %s\n' "$1" "$2"
}

# The tools that building and testing need, for one version; twice is enough.
install_tools() {
    local version=$1 site=$2
    if [ -e "$site/.complete" ]; then
        return
    fi
    rm -rf "$site"
    for _ in 1 2; do
        if python3 -m pip install --quiet --disable-pip-version-check --target "$site" \
            --python-version "$version" --only-binary=:all: --implementation cp \
            'setuptools>=77' 'pytest>=7' 'hypothesis>=6' docutils; then
            touch "$site/.complete"
            return
        fi
    done
    return 1
}

# The package with its extension, in $2.  Built from a copy of the sources: the
# work tree stays as it is.
build() {
    local python=$1 target=$2 site=$3 usr
    usr=$(dirname "$(realpath "$python")")/usr
    mkdir -p "$target"
    cp -r "$root"/{src,speedcopy_c,setup.py,pyproject.toml,README.rst,LICENSE,speedcopy.py} "$target"
    find "$target" -name '*.so' -delete
    # pyconfig.h includes its other half by the name of the architecture.
    (cd "$target" && PYTHONPATH=$site CFLAGS="-I$usr/include" \
        "$python" setup.py --quiet build_ext --inplace)
}

run() {
    local version=$1 python=$cache/pythons/$1/python site=$cache/pythons/site-$1 reason
    shift
    if ! reason=$("$here/unpack.sh" "$cache/pythons" "$version" 2>&1); then
        not_run "$version" "${reason//$'\n'/; }"
        return
    fi
    if ! reason=$(install_tools "$version" "$site" 2>&1); then
        not_run "$version" "pip: ${reason##*$'\n'}"
        return
    fi
    build "$python" "$work/$version" "$site"
    "$python" -c 'import sys; print("Python", sys.version)'
    # Away from the work tree, whose package has no extension for this Python.
    (cd "$work" && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$work/$version:$site \
        "$python" -m pytest -p no:cacheprovider "$@")
}

status=0
for version in "${versions[@]}"; do
    # Not as a condition: there, `set -e` would not count inside.
    set +e
    (set -e; run "$version" "$@")
    result=$?
    set -e
    if [ "$result" -ne 0 ]; then
        echo "Python $version: failed with status $result"
        status=1
    fi
done
exit "$status"
