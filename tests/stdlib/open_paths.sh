#!/bin/sh
# open_paths.sh UID DIR... -- COMMAND...
#
# Run COMMAND as an ordinary user who can reach each DIR, though a folder above
# it may be closed to all but root (an interpreter below /root, say). In a
# mount namespace of its own, each such folder is covered by one that holds
# nothing but the ways to the DIRs below it. As root.
set -eu
uid=$1
shift
if [ "${OPEN_PATHS_INSIDE:-}" != 1 ]; then
    OPEN_PATHS_INSIDE=1 exec unshare -m -- "$0" "$uid" "$@"
fi

closed_above() { # the topmost folder above $1 that others cannot enter
    found=
    folder=$1
    while [ "$folder" != / ]; do
        folder=$(dirname "$folder")
        case $(stat -c %A "$folder") in
        *x | *t) ;;
        *) found=$folder ;;
        esac
    done
    printf '%s' "$found"
}

# What is written here is gone with the namespace.
covers=$(mktemp -d)
mount -t tmpfs -o mode=755 tmpfs "$covers"
while [ "$1" != -- ]; do
    directory=$(realpath "$1")
    shift
    top=$(closed_above "$directory")
    [ -n "$top" ] || continue
    cover=$covers/$(printf '%s' "$top" | tr / _)
    mkdir -p "$cover${directory#"$top"}"
    mount --bind "$directory" "$cover${directory#"$top"}"
    printf '%s' "$top" > "$cover.top"
done
shift
for cover in "$covers"/*.top; do
    [ ! -e "$cover" ] || mount --rbind "${cover%.top}" "$(cat "$cover")"
done
unset OPEN_PATHS_INSIDE
exec setpriv --reuid "$uid" --regid "$uid" --clear-groups -- "$@"
