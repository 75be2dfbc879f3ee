"""Every type and form in which a path, or something wrong, can be passed."""

import os
import pathlib

VALID = {}
INVALID = {}
DESCRIPTORS = {}


def form(table, name):
    """Register a maker; it is called with the name of a file and returns the argument."""

    def register(make):
        table[name] = make
        return make

    return register


class Text(str):
    """A subclass of str."""


class Octets(bytes):
    """A subclass of bytes."""


class Like:
    """A path-like object that is nothing else."""

    def __init__(self, answer):
        self.answer = answer

    def __fspath__(self):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def __repr__(self):
        return f"Like({self.answer!r})"


class Plain:
    """No path at all."""

    def __repr__(self):
        return "Plain()"


class Index:
    """Something that os.stat() takes for a descriptor."""

    def __init__(self, number):
        self.number = number

    def __index__(self):
        return self.number

    def __repr__(self):
        return f"Index({self.number})"


def entry(name, folder=None):
    """The os.DirEntry of that name, or the name if there is none."""
    if folder is None:
        folder = b"." if isinstance(name, bytes) else "."
    with os.scandir(folder) as entries:
        for found in entries:
            if found.name == os.path.basename(name):
                return found
    return name


form(VALID, "str")(str)
form(VALID, "bytes")(os.fsencode)
form(VALID, "Path")(pathlib.Path)
form(VALID, "PurePath")(pathlib.PurePosixPath)
form(VALID, "absolute")(os.path.abspath)
form(VALID, "absolute-bytes")(lambda name: os.path.abspath(os.fsencode(name)))
form(VALID, "absolute-Path")(lambda name: pathlib.Path(name).absolute())
form(VALID, "Text")(Text)
form(VALID, "Octets")(lambda name: Octets(os.fsencode(name)))
form(VALID, "Like-str")(Like)
form(VALID, "Like-bytes")(lambda name: Like(os.fsencode(name)))
form(VALID, "Like-Text")(lambda name: Like(Text(name)))
form(VALID, "DirEntry")(entry)
form(VALID, "DirEntry-bytes")(lambda name: entry(os.fsencode(name)))
form(VALID, "DirEntry-absolute")(lambda name: entry(name, os.getcwd()))


@form(VALID, "odd-bytes")
def odd_bytes(name):
    return renamed(name, os.fsdecode(b"%s-\xff\xfe" % os.fsencode(name)))


@form(VALID, "odd-bytes-Path")
def odd_bytes_path(name):
    return pathlib.Path(odd_bytes(name))


@form(VALID, "not-ascii")
def not_ascii(name):
    return renamed(name, name + "-\xe9\u20ac\U0001f4be")


def renamed(old, new):
    """The new name, which the file gets if there is one."""
    if os.path.lexists(old):
        os.rename(old, new)
    return new


def constant(name, value):
    """A wrong argument that depends on no file."""
    form(INVALID, name)(lambda path: value)


constant("None", None)
constant("Plain", Plain())
constant("float", 1.5)
constant("empty", "")
constant("empty-bytes", b"")
constant("empty-Path", pathlib.Path())
constant("Like-empty", Like(""))
constant("Like-int", Like(5))
constant("Like-None", Like(None))
constant("Like-bytearray", Like(bytearray(b"src")))
constant("Like-raises", Like(ZeroDivisionError("in __fspath__")))
constant("Like-raises-OSError", Like(OSError(5, "in __fspath__", "name")))
constant("lone-surrogate", "name-\ud800")
constant("lone-surrogate-Path", pathlib.Path("name-\ud800"))
constant("negative", -1)
constant("unopened", 999_983)
constant("beyond-int", 2**40)
constant("below-int", -(2**40))
constant("beyond-long", 2**100)
constant("Index", Index(999_983))
constant("class", Like)
form(INVALID, "NUL")(lambda name: name + "\0more")
form(INVALID, "NUL-bytes")(lambda name: os.fsencode(name) + b"\0more")
form(INVALID, "NUL-Path")(lambda name: pathlib.Path(name + "\0more"))
form(INVALID, "NUL-Like")(lambda name: Like(name + "\0more"))
form(INVALID, "tuple")(lambda name: (name,))
form(INVALID, "list")(lambda name: [name])
form(INVALID, "bytearray")(lambda name: bytearray(os.fsencode(name)))
form(INVALID, "memoryview")(lambda name: memoryview(os.fsencode(name)))


def descriptor(name, flags, position=0):
    """Register an argument that is an open descriptor of the file."""

    @form(DESCRIPTORS, name)
    def make(path):
        fd = os.open(path, flags | os.O_CREAT, 0o644)
        if position:
            os.lseek(fd, position, os.SEEK_SET)
        return fd


descriptor("reading", os.O_RDONLY)
descriptor("reading-from-5", os.O_RDONLY, 5)
descriptor("writing", os.O_WRONLY)
descriptor("writing-from-9", os.O_WRONLY, 9)
descriptor("both", os.O_RDWR)
descriptor("appending", os.O_WRONLY | os.O_APPEND)
descriptor("truncating", os.O_RDWR | os.O_TRUNC)
