"""Audit events: the same, in the same order, with the same arguments; a hook may refuse any."""

import json
import os

import pytest
from support.audit_runner import event_cases, veto_cases
from support.processes import code, run


def names(cases):
    return [case.name for case in cases]


def results(arena, what):
    """What the runner found, by case."""
    report = os.path.join(arena, what + ".json")
    run("-m", "support.audit_runner", what, arena, report, timeout=400)
    with open(report) as stream:
        return json.load(stream)


@pytest.fixture(scope="session")
def events(arena):
    return results(arena, "events")


@pytest.fixture(scope="session")
def vetoes(arena):
    return results(arena, "vetoes")


def check(found):
    """Pass, skip or fail with what the runner says."""
    if isinstance(found, str):
        pytest.skip(found)
    if found:
        shown = "\n".join(found[:12])
        pytest.fail(f"{len(found)} differences, such as\n{shown}", False)


@pytest.mark.parametrize("name", names(event_cases()))
def test_events(events, name):
    """Events, result and tree are shutil's while a hook is installed."""
    check(events[name])


@pytest.mark.parametrize("name", names(veto_cases()))
def test_veto(vetoes, name):
    """A hook's exception comes out where it would from shutil, and nothing later is done."""
    check(vetoes[name])


IDENTITY = """
import os, pathlib, sys
import speedcopy_c

seen = []
sys.addaudithook(lambda event, args: event.startswith("shutil.") and seen.append((event, args)))
os.chdir(sys.argv[1])
with open("src", "wb") as stream:
    stream.write(b"data")
src, dst = pathlib.Path("src"), pathlib.Path("dst")
for name in ("copyfile", "copymode", "copystat", "copy", "copy2"):
    del seen[:]
    getattr(speedcopy_c, name)(src, dst)
    print(name, [event for event, args in seen],
          all(args[0] is src and args[1] is dst and len(args) == 2 for event, args in seen))
with os.scandir() as entries:
    entry = next(found for found in entries if found.name == "src")
del seen[:]
speedcopy_c.copy2(entry, dst)
print("entry", all(args[0] is entry for event, args in seen))
"""


def test_arguments_are_the_objects_passed(tmp_path):
    """The hook sees the very objects, not what they were converted to."""
    assert code(IDENTITY, str(tmp_path)).splitlines() == [
        "copyfile ['shutil.copyfile'] True",
        "copymode ['shutil.copymode'] True",
        "copystat ['shutil.copystat'] True",
        "copy ['shutil.copyfile', 'shutil.copymode'] True",
        "copy2 ['shutil.copyfile', 'shutil.copystat'] True",
        "entry True",
    ]


LATE = """
import os, sys
import speedcopy_c

os.chdir(sys.argv[1])
with open("src", "wb") as stream:
    stream.write(b"data")
speedcopy_c.copy2("src", "dst")
seen = []
sys.addaudithook(lambda event, args: seen.append(event))
speedcopy_c.copy2("src", "dst")
print(" ".join(event for event in seen if event != "sys.addaudithook"))
"""


def test_hook_installed_after_the_first_call(tmp_path):
    """Nothing about hooks is remembered from earlier calls."""
    seen = code(LATE, str(tmp_path)).split()
    assert seen[:3] == ["shutil.copyfile", "open", "open"]
    assert seen[3:6] == ["shutil.copystat", "os.utime", "os.listxattr"]
    assert seen[-1] == "os.chmod"


EVENT_BEFORE_ACT = """
import os, sys
import speedcopy_c

os.chdir(sys.argv[1])
with open("src", "wb") as stream:
    stream.write(b"data")
os.chmod("src", 0o640)

def hook(event, args):
    if event == "open" and args[0] == "dst":
        print("open", os.path.exists("dst"))
    elif event == "os.chmod":
        print("chmod", os.path.getsize("dst"), oct(os.stat("dst").st_mode & 0o777))
    elif event == "os.utime":
        print("utime", os.stat("dst").st_mtime_ns != os.stat("src").st_mtime_ns)

os.utime("src", ns=(5, 5))
os.umask(0)
sys.addaudithook(hook)
speedcopy_c.copy2("src", "dst")
"""


def test_each_event_comes_before_its_act(tmp_path):
    """What a hook may refuse has not been done yet when it is asked."""
    lines = code(EVENT_BEFORE_ACT, str(tmp_path)).splitlines()
    assert lines[:2] == ["open False", "utime True"]
    assert lines[2] in ("chmod 4 0o600", "chmod 4 0o666")
