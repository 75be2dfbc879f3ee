#!/bin/sh
# open_paths.sh UID DIR... -- COMMAND...
#
# Run COMMAND as an ordinary user who can reach each DIR, though a folder above
# it may be closed to all but root (an interpreter below /root, say). In a
# mount namespace of its own, each such folder is covered by one that holds
# nothing but the way to DIR. As root.
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

cover=$(mktemp -d)
trap 'exit 1' INT TERM
chmod 755 "$cover"
covered=
while [ "$1" != -- ]; do
    directory=$(realpath "$1")
    shift
    top=$(closed_above "$directory")
    [ -n "$top" ] || continue
    case $covered in
    '') covered=$top ;;
    "$top") ;;
    *) echo "open_paths: $covered and $top are both closed" >&2; exit 2 ;;
    esac
    inside=$cover${directory#"$top"}
    mkdir -p "$inside"
    mount --bind "$directory" "$inside"
done
shift
[ -z "$covered" ] || mount --rbind "$cover" "$covered"
unset OPEN_PATHS_INSIDE
exec setpriv --reuid "$uid" --regid "$uid" --clear-groups -- "$@"
