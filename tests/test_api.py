"""The package from outside: names, signatures, traces, switches, cost of importing it."""

import copy
import inspect
import json
import os
import pathlib
import pickle
import sys
import threading

import pytest
from support.processes import code, run
from support.sources import DATA, pattern

import speedcopy
import speedcopy_c

FUNCTIONS = ("copyfile", "copymode", "copystat", "copy", "copy2")
MIB = 2**20
METHODS = {"clone", "server_copy", "holes", "copy_file_range", "sendfile", "read_write"}


def read(path):
    with open(path, "rb") as stream:
        return stream.read()


# One module, two names.


def test_two_names_of_one_module():
    assert speedcopy is speedcopy_c
    assert sys.modules["speedcopy"] is sys.modules["speedcopy_c"]
    assert speedcopy.copyfile is speedcopy_c.copyfile


ALIASES = """
import {first}
import {second}
import speedcopy._trace, speedcopy_c._trace
from speedcopy import _trace as one
from speedcopy_c import _trace as two
import importlib, sys
assert speedcopy is speedcopy_c
assert speedcopy._trace is speedcopy_c._trace is one is two
assert sys.modules["speedcopy._trace"] is sys.modules["speedcopy_c._trace"]
assert importlib.import_module("speedcopy._core") is importlib.import_module("speedcopy_c._core")
assert speedcopy.CopyRecord is two.CopyRecord
assert speedcopy_c.__name__ == "speedcopy_c" and two.__name__ == "speedcopy_c._trace"
assert two.__spec__.name == "speedcopy_c._trace", two.__spec__
try:
    import speedcopy.no_such_module
except ModuleNotFoundError as error:
    assert "no_such_module" in str(error)
else:
    raise AssertionError("imported what is not there")
print("fine")
"""


@pytest.mark.parametrize(
    "first, second", [("speedcopy", "speedcopy_c"), ("speedcopy_c", "speedcopy")]
)
def test_submodules_are_the_same_under_both_names(first, second):
    """Whichever name is imported first."""
    assert code(ALIASES.format(first=first, second=second)) == "fine\n"


def test_debug_set_through_the_old_name(tmp_path):
    """An attribute set on speedcopy is seen by speedcopy_c."""
    (tmp_path / "src").write_bytes(DATA)
    text = (
        "import sys, speedcopy, speedcopy_c\n"
        "speedcopy.SPEEDCOPY_DEBUG = True\n"
        "assert speedcopy_c.SPEEDCOPY_DEBUG is True\n"
        "speedcopy_c.copyfile(sys.argv[1], sys.argv[2])\n"
        "speedcopy_c.SPEEDCOPY_DEBUG = False\n"
        "assert speedcopy.SPEEDCOPY_DEBUG is False\n"
        "speedcopy.copyfile(sys.argv[1], sys.argv[2])\n"
    )
    done = run("-c", text, str(tmp_path / "src"), str(tmp_path / "dst"))
    assert len(done.stderr.splitlines()) == 1, done.stderr


# The functions as objects.


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signature(name):
    """shutil's parameters first, ours keyword-only after them."""
    parameters = list(inspect.signature(getattr(speedcopy_c, name)).parameters.values())
    assert [parameter.name for parameter in parameters[:3]] == ["src", "dst", "follow_symlinks"]
    src, dst, follow = parameters[:3]
    assert src.kind is dst.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert src.default is dst.default is inspect.Parameter.empty
    assert follow.default is True
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in parameters[2:])
    assert all(p.default is not inspect.Parameter.empty for p in parameters[3:])


OPTIONS = {"reflink", "sparse", "atomic", "fsync", "verify", "progress", "method"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signature_names_the_options(name):
    found = set(inspect.signature(getattr(speedcopy_c, name)).parameters)
    expected = set() if name in ("copymode", "copystat") else set(OPTIONS)
    if name in ("copy", "copy2", "copystat"):
        expected.add("preserve")
    assert found - {"src", "dst", "follow_symlinks"} == expected


@pytest.mark.parametrize("name", FUNCTIONS)
def test_documentation_and_names(name):
    function = getattr(speedcopy_c, name)
    assert function.__name__ == function.__qualname__ == name
    assert function.__module__.partition(".")[0] == "speedcopy_c"
    assert len(inspect.getdoc(function)) > 40
    assert name in repr(function)
    assert callable(function) and hash(function) == hash(function)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_pickled_by_name(name):
    """As a process pool needs it."""
    function = getattr(speedcopy_c, name)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(function, protocol)) is function
    assert copy.deepcopy(function) is function


def test_public_names():
    """All that is promised is there, listed and documented."""
    for name in speedcopy_c.__all__:
        assert name in dir(speedcopy_c)
        assert getattr(speedcopy_c, name) is not NotImplemented
    for name in (*FUNCTIONS, "trace", "filesystem_type", "capabilities"):
        assert name in speedcopy_c.__all__
        assert inspect.getdoc(getattr(speedcopy_c, name))
    assert isinstance(speedcopy_c.__version__, str)
    with pytest.raises(AttributeError, match="no_such_name"):
        speedcopy_c.no_such_name  # noqa: B018


# trace()


def test_trace_of_one_file(box):
    box.file("src", pattern(3 * MIB))
    with speedcopy_c.trace() as records:
        speedcopy_c.copyfile("src", "dst")
    (record,) = records
    assert type(record) is speedcopy_c.CopyRecord
    assert (record.src, record.dst, record.bytes) == ("src", "dst", 3 * MIB)
    assert record.method in METHODS
    assert 0 < record.seconds < 60
    for method, reason in record.fallbacks:
        assert method in METHODS and isinstance(reason, str) and reason


@pytest.mark.parametrize("name", ["copyfile", "copy", "copy2"])
@pytest.mark.parametrize("size", [0, 1, 5000, 100_000])
def test_one_record_for_each_file(box, name, size):
    for number in range(5):
        box.file(f"src-{number}", pattern(size + number))
    with speedcopy_c.trace() as records:
        for number in range(5):
            getattr(speedcopy_c, name)(f"src-{number}", f"dst-{number}")
    assert [record.bytes for record in records] == [size + number for number in range(5)]
    assert [record.dst for record in records] == [f"dst-{number}" for number in range(5)]


def test_trace_names_the_file_in_a_directory(box):
    box.file("src", DATA)
    box.directory("folder")
    src = pathlib.Path("src")
    with speedcopy_c.trace() as records:
        speedcopy_c.copy2(src, "folder")
    assert records[0].src is src and records[0].dst == os.path.join("folder", "src")


def test_trace_ends(box):
    """Nothing is recorded before or after, nor when the block ended by an exception."""
    box.file("src", DATA)
    speedcopy_c.copyfile("src", "before")
    with pytest.raises(ZeroDivisionError), speedcopy_c.trace() as records:
        speedcopy_c.copyfile("src", "inside")
        raise ZeroDivisionError
    speedcopy_c.copyfile("src", "after")
    assert [record.dst for record in records] == ["inside"]


def test_traces_in_each_other(box):
    box.file("src", DATA)
    with speedcopy_c.trace() as outer:
        speedcopy_c.copyfile("src", "a")
        with speedcopy_c.trace() as inner:
            speedcopy_c.copyfile("src", "b")
        speedcopy_c.copyfile("src", "c")
    assert [record.dst for record in outer] == ["a", "b", "c"]
    assert [record.dst for record in inner] == ["b"]


def test_trace_hears_of_other_threads(box):
    box.file("src", DATA)
    with speedcopy_c.trace() as records:
        threads = [
            threading.Thread(target=speedcopy_c.copyfile, args=("src", f"dst-{number}"))
            for number in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(record.dst for record in records) == [f"dst-{n}" for n in range(8)]


def test_trace_says_why_a_method_gave_way(arena, other_disk):
    """Across devices nothing can be cloned, and the record tells the errno's name."""
    src, dst = os.path.join(arena, "traced"), os.path.join(other_disk, "traced")
    with open(src, "wb") as stream:
        stream.write(pattern(4 * MIB))
    with speedcopy_c.trace() as records:
        speedcopy_c.copyfile(src, dst)
    assert records[0].method in METHODS - {"clone"}
    reasons = dict(records[0].fallbacks)
    assert reasons.get("clone") in ("EXDEV", "EOPNOTSUPP", "ENOTSUP", "ENOTTY"), reasons
    os.unlink(src)
    os.unlink(dst)


def test_trace_of_a_link(box):
    """What shutil's own function did is recorded too, as that."""
    box.file("src", DATA)
    box.link("src", "way")
    with speedcopy_c.trace() as records:
        speedcopy_c.copyfile("way", "dst", follow_symlinks=False)
    assert [(record.dst, record.method) for record in records] == [("dst", "shutil")]
    assert records[0].fallbacks


# SPEEDCOPY_DEBUG

DEBUG = """
import logging, sys
import speedcopy_c
{setup}
speedcopy_c.copyfile(sys.argv[1], sys.argv[2])
speedcopy_c.copy2(sys.argv[1], sys.argv[2])
"""


def debug_lines(tmp_path, setup, **environment):
    (tmp_path / "src").write_bytes(DATA)
    words = ("-c", DEBUG.format(setup=setup), str(tmp_path / "src"), str(tmp_path / "dst"))
    done = run(*words, **environment)
    return done.stdout.splitlines(), done.stderr.splitlines()


def test_debug_lines_without_logging(tmp_path):
    """One line a file on stderr, with both names and the method."""
    out, err = debug_lines(tmp_path, "speedcopy_c.SPEEDCOPY_DEBUG = True")
    assert out == [] and len(err) == 2, err
    for line in err:
        assert str(tmp_path / "src") in line and str(tmp_path / "dst") in line
        assert any(method in line for method in METHODS)


def test_debug_lines_with_logging(tmp_path):
    """A configured logging gets them, and stderr nothing more."""
    setup = (
        "speedcopy_c.SPEEDCOPY_DEBUG = True\n"
        "style = '%(name)s %(message)s'\n"
        "logging.basicConfig(stream=sys.stdout, level=logging.DEBUG, format=style)"
    )
    out, err = debug_lines(tmp_path, setup)
    assert err == [] and len(out) == 2, (out, err)
    assert all(line.startswith("speedcopy ") for line in out)


def test_debug_lines_to_the_named_logger(tmp_path):
    setup = (
        "speedcopy_c.SPEEDCOPY_DEBUG = True\n"
        "logger = logging.getLogger('speedcopy')\n"
        "logger.setLevel(logging.DEBUG)\n"
        "logger.addHandler(logging.StreamHandler(sys.stdout))\n"
    )
    out, err = debug_lines(tmp_path, setup)
    assert err == [] and len(out) == 2, (out, err)


def test_debug_off(tmp_path):
    assert debug_lines(tmp_path, "") == ([], [])
    assert debug_lines(tmp_path, "", SPEEDCOPY_DEBUG="0") == ([], [])


def test_debug_by_environment(tmp_path):
    out, err = debug_lines(tmp_path, "assert speedcopy_c.SPEEDCOPY_DEBUG", SPEEDCOPY_DEBUG="1")
    assert out == [] and len(err) == 2, err


# filesystem_type() and capabilities()


def test_filesystem_types(tmp_path, other_disk):
    if os.path.ismount("/proc"):
        assert speedcopy_c.filesystem_type("/proc") == "proc"
        assert speedcopy_c.filesystem_type("/proc/self/status") == "proc"
    if os.path.ismount("/sys"):
        assert speedcopy_c.filesystem_type("/sys") == "sysfs"
    assert speedcopy_c.filesystem_type(other_disk) == "tmpfs"
    assert speedcopy_c.filesystem_type(os.fsencode(other_disk)) == "tmpfs"
    assert speedcopy_c.filesystem_type(pathlib.Path(other_disk)) == "tmpfs"


def test_filesystem_type_of_a_cloning_disk(reflink_disk):
    assert speedcopy_c.filesystem_type(reflink_disk) == os.path.basename(reflink_disk)


def test_filesystem_type_as_the_mount_table_says(tmp_path):
    """For the disk that the tests run on."""
    best = ("", None)
    with open("/proc/self/mountinfo") as table:
        for line in table:
            words = line.split()
            place, kind = words[4], words[words.index("-") + 1]
            inside = str(tmp_path).startswith(place.rstrip("/") + "/")
            if inside and len(place) >= len(best[0]):
                best = place, kind
    found = speedcopy_c.filesystem_type(tmp_path)
    assert found == best[1] or (best[1] in ("ext2", "ext3") and found == "ext4")


def test_filesystem_type_errors(tmp_path):
    missing = tmp_path / "missing"
    with pytest.raises(FileNotFoundError) as caught:
        speedcopy_c.filesystem_type(missing)
    assert str(caught.value.filename) == str(missing)
    for wrong in (None, 1.5, ["a"]):
        with pytest.raises(TypeError):
            speedcopy_c.filesystem_type(wrong)
    with pytest.raises(ValueError, match="null"):
        speedcopy_c.filesystem_type("a\0b")
    with pytest.raises(TypeError):
        speedcopy_c.filesystem_type()


def test_capabilities():
    found = speedcopy_c.capabilities()
    assert type(found) is dict
    assert json.loads(json.dumps(found)) == found
    assert set(found["methods"]) <= METHODS and found["methods"][-1] == "read_write"
    assert found["disabled"] is False


def test_capabilities_of_a_pair(tmp_path, other_disk):
    """Found by trying, which leaves nothing behind."""
    found = speedcopy_c.capabilities(tmp_path, other_disk)
    assert found["dst_filesystem"] == "tmpfs"
    assert found["src_filesystem"] == speedcopy_c.filesystem_type(tmp_path)
    assert found["pair"]["read_write"] is True and found["pair"]["clone"] is not True
    assert os.listdir(tmp_path) == []
    assert [name for name in os.listdir(other_disk) if "speedcopy" in name] == []


def test_capabilities_of_a_cloning_disk(reflink_disk):
    found = speedcopy_c.capabilities(reflink_disk, reflink_disk)
    assert found["pair"]["clone"] is True
    assert found["src_filesystem"] == found["dst_filesystem"] == os.path.basename(reflink_disk)


# The environment.

SWITCHED = """
import json, sys
import speedcopy_c
src, dst = sys.argv[1:]
with speedcopy_c.trace() as records:
    result = speedcopy_c.copy2(src, dst)
print(json.dumps([result, [[r.method, [f[0] for f in r.fallbacks]] for r in records],
                  speedcopy_c.capabilities()]))
"""


def switched(tmp_path, **environment):
    """Result, [method, methods given up] of each record, and capabilities."""
    src, dst = tmp_path / "src", tmp_path / "dst"
    src.write_bytes(pattern(4 * MIB))
    out = code(SWITCHED, str(src), str(dst), **environment)
    assert dst.read_bytes() == src.read_bytes()
    return json.loads(out)


def test_methods_switched_off(tmp_path):
    """A method that is switched off is neither used nor tried."""
    off = ["clone", "copy_file_range"]
    value = ",".join("-" + method for method in off)
    _result, records, capable = switched(tmp_path, SPEEDCOPY_METHODS=value)
    ((method, fallbacks),) = records
    assert method not in off and not set(off) & set(fallbacks)
    assert not set(off) & set(capable["methods"])


def test_all_methods_switched_off(tmp_path):
    """Reading and writing remains."""
    value = ",".join("-" + method for method in sorted(METHODS))
    _result, records, capable = switched(tmp_path, SPEEDCOPY_METHODS=value)
    assert records == [["read_write", []]]
    assert capable["methods"] == ["read_write"]


DISABLED = """
import shutil, sys
calls = []
for name in ("copyfile", "copymode", "copystat", "copy", "copy2"):
    def replaced(*args, real=getattr(shutil, name), name=name, **kwargs):
        calls.append(name)
        return real(*args, **kwargs)
    setattr(shutil, name, replaced)
import speedcopy_c
src, dst = sys.argv[1:]
for name in ("copyfile", "copymode", "copystat", "copy", "copy2"):
    del calls[:]
    getattr(speedcopy_c, name)(src, dst, follow_symlinks=True)
    assert calls[0] == name, (name, calls)
for name, options in (
    ("copyfile", {"atomic": True}),
    ("copyfile", {"reflink": "never"}),
    ("copy", {"verify": "bytes"}),
    ("copy2", {"progress": print}),
    ("copystat", {"preserve": "ownership"}),
):
    try:
        getattr(speedcopy_c, name)(src, dst, **options)
    except Exception as error:
        assert "SPEEDCOPY_DISABLE" in str(error), error
    else:
        raise AssertionError(name + str(options))
print(speedcopy_c.capabilities()["disabled"])
"""


def test_disabled(tmp_path):
    """Calls with shutil's arguments go to shutil, those with ours say that they cannot."""
    (tmp_path / "src").write_bytes(DATA)
    words = (DISABLED, str(tmp_path / "src"), str(tmp_path / "dst"))
    assert code(*words, SPEEDCOPY_DISABLE="1") == "True\n"
    assert (tmp_path / "dst").read_bytes() == DATA


def test_not_disabled_by_zero(tmp_path):
    _result, records, capable = switched(tmp_path, SPEEDCOPY_DISABLE="0")
    assert capable["disabled"] is False and records[0][0] in METHODS


# Importing it.

IMPORT = """
import shutil, sys
before = set(sys.modules)
import speedcopy_c
speedcopy_c.copyfile
print(" ".join(sorted(set(sys.modules) - before)))
"""


def test_modules_loaded():
    """Nothing but ours."""
    loaded = set(code(IMPORT).split())
    assert {"speedcopy_c", "speedcopy_c._core"} <= loaded
    assert loaded <= {"speedcopy_c", "speedcopy_c._core", "speedcopy_c._api"}


USE = """
import shutil, sys
import speedcopy_c
before = set(sys.modules)
for name in ("copyfile", "copymode", "copystat", "copy", "copy2"):
    getattr(speedcopy_c, name)(sys.argv[1], sys.argv[2])
print(" ".join(sorted(set(sys.modules) - before)))
"""


def test_modules_loaded_by_plain_calls(tmp_path):
    (tmp_path / "src").write_bytes(DATA)
    assert code(USE, str(tmp_path / "src"), str(tmp_path / "dst")).split() == []


def test_nothing_is_patched_on_import():
    text = (
        "import shutil, os\n"
        "names = ('copyfile', 'copymode', 'copystat', 'copy', 'copy2', 'copytree', 'move')\n"
        "before = [getattr(shutil, name) for name in names] + [vars(shutil).keys() - set()]\n"
        "import speedcopy, speedcopy_c\n"
        "after = [getattr(shutil, name) for name in names] + [vars(shutil).keys() - set()]\n"
        "print(before == after)\n"
    )
    assert code(text) == "True\n"


def test_import_leaves_streams_alone():
    done = run("-W", "error", "-c", "import speedcopy_c, speedcopy")
    assert (done.stdout, done.stderr) == ("", "")


def test_fork_after_use(box):
    """A child may go on copying."""
    box.file("src", DATA)
    speedcopy_c.copyfile("src", "dst")
    text = (
        "import os, sys, speedcopy_c\n"
        "speedcopy_c.copyfile('src', 'dst')\n"
        "child = os.fork()\n"
        "speedcopy_c.copy2('src', f'dst-{bool(child):d}')\n"
        "if not child:\n"
        "    os._exit(0)\n"
        "sys.exit(os.waitpid(child, 0)[1])\n"
    )
    code(text)
    assert read("dst-0") == read("dst-1") == DATA
