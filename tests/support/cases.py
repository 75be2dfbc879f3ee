"""The cases made by crossing every source with every target."""

from . import sources, targets
from .outcome import Case
from .privilege import USER, is_root

FUNCTIONS = ("copyfile", "copymode", "copystat", "copy", "copy2")
FOLLOW = ({}, {"follow_symlinks": False})


def pair(src, dst, user):
    """The case of that source copied to that target."""

    def prepare(box):
        source = src.make(box) or "src"
        return source, dst.make(box, source) or "dst"

    name = "{}-to-{}{}".format(src.name, dst.name, "-as-user" if user else "")
    ignore = set(src.ignore)
    return Case(name, prepare, user=user, ignore=ignore)


def pairs():
    """Core sources to all targets, all sources to core targets; the same as a plain user."""
    made = []
    for src in sources.SOURCES.values():
        for dst in targets.TARGETS.values():
            if src.outside and dst.beside:
                continue
            private = src.user or dst.user
            if not private and (src.core or dst.core):
                made.append(pair(src, dst, None))
            suits_user = (src.core or src.user) and (dst.core or dst.user)
            if suits_user and (private or is_root()):
                made.append(pair(src, dst, USER))
    return made


def variants(case):
    """(id, function name, keyword arguments) of each call that the case stands for."""
    for name in FUNCTIONS:
        for kwargs in FOLLOW:
            yield "{}({})".format(name, "follow_symlinks=False" if kwargs else ""), name, kwargs
