"""What a call did, in a form that two implementations can be compared by."""

import os


def outcome(function, *arguments, **options):
    """("returned", value) or ("raised", type, errno, filename, filename2)."""
    try:
        return ("returned", function(*arguments, **options))
    except Exception as error:
        return shape(error)


def shape(error):
    return (
        "raised",
        type(error).__name__,
        getattr(error, "errno", None),
        getattr(error, "filename", None),
        getattr(error, "filename2", None),
    )


def renamed(result, old, new):
    """The outcome with one path written for another: the two implementations
    had targets of their own."""
    old, new = os.fspath(old), os.fspath(new)
    is_path = (str, os.PathLike)
    return tuple(
        new if isinstance(part, is_path) and os.fspath(part) == old else part for part in result
    )
