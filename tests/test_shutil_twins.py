"""Twins of the tests in CPython's test_shutil that mock a Python-level call.

Those tests replace os.chmod, os.sendfile or os.copy_file_range and look at
what shutil does with it; the guard shows them shutil's own functions. Here the
same faults happen to our code, without the guard and without a mock.
"""

import json
import os
import shutil
import subprocess
import sys
import textwrap

import pytest
from support.privilege import acting_as, is_root

import speedcopy_c
from speedcopy_c import _core

MIB = 1 << 20


@pytest.fixture
def unguarded():
    """shutil patched, with nothing but our own code to copy files."""
    _core._set_guard(False)
    with speedcopy_c.patched():
        yield
    _core._set_guard(True)


def run_python(code, **environment):
    """Run code in a Python of its own; what it prints is JSON."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return json.loads(done.stdout)


def test_failing_chmod(unguarded, tmp_path):
    """Twin of test_copytree_winerror: chmod fails after the data is copied."""
    if not is_root():
        pytest.skip("needs root, to make a file that belongs to somebody else")
    for folder in (tmp_path, *tmp_path.parents):
        if folder.owner() == "root" and str(folder).startswith("/tmp/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    tree, copy = tmp_path / "tree", tmp_path / "copy"
    for folder in (tree, copy):
        folder.mkdir()
        folder.chmod(0o777)
        (folder / "file").write_bytes(folder.name.encode())
    (copy / "file").chmod(0o666)
    errors = []
    for copytree in (shutil._orig_copytree, shutil.copytree):
        (copy / "file").write_bytes(b"old")
        with acting_as(1234), pytest.raises(shutil.Error) as caught:
            copytree(tree, copy, dirs_exist_ok=True)
        assert (copy / "file").read_bytes() == b"tree"
        errors.append(next((*names, text) for *names, text in caught.value.args[0]))
    assert [str(part) for part in errors[0]] == [str(part) for part in errors[1]]


def fail_at_limit(place, methods):
    """Outcomes of shutil's own and of ours past the limit of a file's size."""
    return run_python(
        f"""
        import json, os, resource, shutil, signal
        import speedcopy_c
        from speedcopy_c import _core
        os.chdir({str(place)!r})
        with open("source", "wb") as file:
            file.write(os.urandom(3 * {MIB}))
        speedcopy_c.patch_copyfile()
        _core._set_guard(False)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, ({MIB}, {MIB}))
        outcomes = []
        for copyfile in (shutil._orig_copyfile, shutil.copyfile):
            try:
                copyfile("source", "target")
            except OSError as error:
                outcomes.append([error.errno, error.filename, error.filename2])
            outcomes.append(os.path.getsize("target"))
            os.remove("target")
        print(json.dumps(outcomes))
        """,
        SPEEDCOPY_METHODS=methods,
    )


def test_failing_copy_file_range(tmp_path):
    """Twin of TestZeroCopyCopyFileRange.test_unhandled_exception."""
    own_error, own_size, our_error, our_size = fail_at_limit(tmp_path, "-clone")
    assert our_error == own_error
    assert our_error[1:] == ["source", "target"]
    assert our_size == own_size


def test_failing_sendfile(tmp_path):
    """Twin of TestZeroCopySendfile.test_unhandled_exception."""
    methods = "-clone,-copy_file_range"
    own_error, own_size, our_error, our_size = fail_at_limit(tmp_path, methods)
    assert our_error == own_error
    assert our_error[1:] == ["source", "target"]
    assert our_size == own_size


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is needed")
@pytest.mark.parametrize(
    "call, methods",
    [
        ("copy_file_range", "-clone"),
        ("sendfile", "-clone,-copy_file_range"),
    ],
)
def test_calls_are_few(tmp_path, call, methods):
    """Twin of both test_blocksize_arg: large pieces, whatever the file's size."""
    source = tmp_path / "source"
    source.write_bytes(bytes(range(256)) * (64 * MIB // 256))
    log = tmp_path / "log"
    code = (
        "import speedcopy_c, shutil, sys;"
        " speedcopy_c.patch_copyfile(); shutil.copyfile(*sys.argv[1:])"
    )
    subprocess.run(
        [
            "strace",
            "-f",
            "-o",
            log,
            "-e",
            f"trace={call}",
            sys.executable,
            "-c",
            code,
            source,
            tmp_path / "target",
        ],
        check=True,
        env={**os.environ, "SPEEDCOPY_METHODS": methods},
        timeout=60,
    )
    calls = log.read_text().count(f"{call}(")
    # At least 1 MiB a call even where it is slow, and mostly far more.
    assert 2 <= calls <= 66
