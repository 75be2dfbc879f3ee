#!/bin/sh
# setup.sh DIR [PYTHON]: installs the rivals that files.py measures, each in a virtual environment of its own in DIR
# (two of them replace functions of shutil when imported, so they must not meet). DIR must be outside the repository.
# PYTHON (default python3) should be one that the binary wheels exist for. A rival that can't be installed is skipped.
set -eu

[ $# -ge 1 ] || { echo "usage: setup.sh DIR [PYTHON]" >&2; exit 2; }
directory=$1
python=${2:-python3}
mkdir -p "$directory"

install_rival() {
    name=$1
    shift
    if [ ! -x "$directory/$name/bin/python" ]; then
        "$python" -m venv "$directory/$name"
    fi
    for requirement in "$@"; do
        if "$directory/$name/bin/python" -m pip install --quiet --disable-pip-version-check "$requirement"; then
            echo "$name: installed $requirement"
            return
        fi
    done
    echo "$name: not installed, left out" >&2
    rm -rf "${directory:?}/$name"
}

install_rival speedcopy "speedcopy==2.2.1" "speedcopy==2.1.5" "speedcopy<3"
install_rival pyfastcopy "pyfastcopy==1.0.3"
install_rival reflink-copy "reflink-copy==0.3.3" "reflink-copy"
