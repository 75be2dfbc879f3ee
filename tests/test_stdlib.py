"""The standard library's own test suites, unmodified, with shutil patched.

test_shutil runs patched twice. With the guard every test has to come out as
it does plain: whatever a test mocks, shutil's own functions see it. Without
the guard our C code is what is tested, and what fails is the tests that assert
that a mocked Python-level call was made; each has a twin that makes the same
fault happen to our code for real.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys

import pytest

import speedcopy_c

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(speedcopy_c.__file__)))
RUNNER = os.path.join(HERE, "stdlib", "run_suite.py")
OPEN_PATHS = os.path.join(HERE, "stdlib", "open_paths.sh")
ORDINARY_USER = "1234"

#: Suites that copy files through shutil, beside test_shutil itself.
OTHERS = (
    "test_compileall",
    "test_filecmp",
    "test_mailbox",
    "test_tarfile",
    "test_tempfile",
    "test_zipapp",
    "test_zipfile",
)

#: Tests of test_shutil that assert that a mocked call was made, each with
#: its twins in test_shutil_twins.py.
NEED_MOCKS = {
    "test.test_shutil.TestCopyTree.test_copytree_winerror": "test_failing_chmod",
    "test.test_shutil.TestZeroCopySendfile.test_unhandled_exception": "test_failing_sendfile",
    "test.test_shutil.TestZeroCopySendfile.test_blocksize_arg": "test_calls_are_few",
    "test.test_shutil.TestZeroCopyCopyFileRange.test_unhandled_exception": (
        "test_failing_copy_file_range"
    ),
    "test.test_shutil.TestZeroCopyCopyFileRange.test_blocksize_arg": "test_calls_are_few",
}

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("test.test_shutil") is None,
    reason="this Python came without its test suite",
)


def run(mode, suites, place, user=None):
    """Outcomes by test name, and the details of what failed."""
    command = [sys.executable, RUNNER, mode, *suites]
    if user is not None:
        python = os.path.dirname(sys.executable)
        roots = {sys.base_prefix, sys.prefix, python, HERE, PACKAGE, os.path.dirname(place)}
        command = [OPEN_PATHS, user, *sorted(roots), "--", *command]
    environment = {
        **os.environ,
        "PYTHONPATH": PACKAGE,
        "PYTHONDONTWRITEBYTECODE": "1",
        "TMPDIR": place,
        "HOME": place,
    }
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    return found["outcomes"], found["details"]


@pytest.fixture(params=["root", "ordinary user"])
def who(request, tmp_path_factory):
    """A user and a directory of theirs; as the tests' own user if not root."""
    place = tmp_path_factory.mktemp("stdlib")
    if request.param == "root":
        if os.geteuid() != 0:
            pytest.skip("not root; the tests' own user is the ordinary user's case")
        return None, str(place)
    if os.geteuid() != 0:
        return None, str(place)
    if shutil.which("unshare") is None or shutil.which("setpriv") is None:
        pytest.skip("unshare and setpriv (util-linux) are needed")
    for folder in (place, *list(place.parents)[:2]):
        folder.chmod(0o755)
    os.chown(place, int(ORDINARY_USER), int(ORDINARY_USER))
    return ORDINARY_USER, str(place)


@pytest.mark.takes_long(600)
def test_shutil_guarded_and_not(who):
    user, place = who
    plain, details = run("plain", ["test_shutil"], place, user)
    assert len(plain) > 100
    failing = {name for name, outcome in plain.items() if outcome in ("failure", "error")}
    assert not failing, [details[name] for name in failing]

    guarded, details = run("guarded", ["test_shutil"], place, user)
    differing = {name for name in plain if plain[name] != guarded.get(name)}
    assert not differing, {name: details.get(name) for name in differing}
    assert plain == guarded

    unguarded, details = run("unguarded", ["test_shutil"], place, user)
    differing = {name for name in plain if plain[name] != unguarded.get(name)}
    expected = {name for name in NEED_MOCKS if plain.get(name) == "success"}
    assert differing == expected, {name: details.get(name) for name in differing ^ expected}


@pytest.mark.takes_long(900)
@pytest.mark.parametrize("suite", OTHERS)
def test_other_suites_are_the_same(suite, tmp_path):
    if importlib.util.find_spec(f"test.{suite}") is None:
        pytest.skip(f"this Python has no {suite}")
    plain, _ = run("plain", [suite], str(tmp_path))
    guarded, details = run("guarded", [suite], str(tmp_path))
    assert plain
    differing = {name for name in plain if plain[name] != guarded.get(name)}
    assert not differing, {name: details.get(name) for name in differing}


def test_every_twin_exists():
    with open(os.path.join(HERE, "test_shutil_twins.py"), encoding="utf-8") as file:
        text = file.read()
    for twin in NEED_MOCKS.values():
        assert f"def {twin}(" in text
