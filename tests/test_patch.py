"""patch_copyfile() and its like: what shutil looks like while patched."""

import gc
import importlib
import inspect
import os
import pickle
import shutil
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import pytest

import speedcopy_c
from speedcopy_c import _core, _patch

ORIGINALS = {name: getattr(shutil, name) for name in _patch.FAMILY}


@pytest.fixture(autouse=True)
def unpatched():
    """Every test starts and ends with shutil's own functions."""
    assert _patch.patched_names() == []
    yield
    for name in _patch.FAMILY:
        if getattr(shutil, name) is not ORIGINALS[name]:
            setattr(shutil, name, ORIGINALS[name])
        if hasattr(shutil, f"_orig_{name}"):
            delattr(shutil, f"_orig_{name}")
    _core._set_guard(True)


@pytest.fixture
def files(tmp_path):
    """A source file, and a name for its copy."""
    source = tmp_path / "source"
    source.write_bytes(os.urandom(3000))
    return str(source), str(tmp_path / "target")


def run_python(code, **environment):
    """Run code in a Python of its own, and return its output."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    ).stdout


def test_whole_family_is_patched_and_restored():
    speedcopy_c.patch_copyfile()
    assert _patch.patched_names() == list(_patch.FAMILY)
    for name in _patch.FAMILY:
        assert getattr(shutil, f"_orig_{name}") is ORIGINALS[name]
    speedcopy_c.unpatch_copyfile()
    for name in _patch.FAMILY:
        assert getattr(shutil, name) is ORIGINALS[name]
        assert not hasattr(shutil, f"_orig_{name}")


def test_short_names_are_the_same():
    assert speedcopy_c.patch is speedcopy_c.patch_copyfile
    assert speedcopy_c.unpatch is speedcopy_c.unpatch_copyfile


def test_named_functions_only():
    speedcopy_c.patch_copyfile("copyfile", "copy2")
    assert _patch.patched_names() == ["copyfile", "copy2"]
    speedcopy_c.unpatch_copyfile("copyfile")
    assert _patch.patched_names() == ["copy2"]


def test_unknown_name_is_refused_before_anything_is_patched():
    with pytest.raises(ValueError, match="rmdir"):
        speedcopy_c.patch_copyfile("copyfile", "rmdir")
    assert _patch.patched_names() == []


def test_twice_is_once():
    speedcopy_c.patch_copyfile()
    ours = shutil.copyfile
    speedcopy_c.patch_copyfile()
    assert shutil.copyfile is ours
    assert shutil._orig_copyfile is ORIGINALS["copyfile"]
    speedcopy_c.unpatch_copyfile()
    assert shutil.copyfile is ORIGINALS["copyfile"]
    speedcopy_c.unpatch_copyfile()
    assert shutil.copyfile is ORIGINALS["copyfile"]


def test_unpatch_without_patch_does_nothing():
    speedcopy_c.unpatch_copyfile()
    assert shutil.copyfile is ORIGINALS["copyfile"]


def test_later_patch_of_somebody_else_stays():
    speedcopy_c.patch_copyfile()

    def theirs(src, dst, *, follow_symlinks=True):
        return dst

    shutil.copyfile = theirs
    speedcopy_c.unpatch_copyfile()
    assert shutil.copyfile is theirs
    assert shutil.copy2 is ORIGINALS["copy2"]


def test_earlier_patch_of_somebody_else_is_left_alone_and_told():
    def theirs(src, dst, *, follow_symlinks=True):
        return dst

    shutil.copyfile = theirs
    with pytest.warns(RuntimeWarning, match=r"shutil\.copyfile"):
        speedcopy_c.patch_copyfile()
    assert shutil.copyfile is theirs
    assert _patch.patched_names() == [n for n in _patch.FAMILY if n != "copyfile"]


def test_context_manager_undoes_what_it_did():
    speedcopy_c.patch_copyfile("copyfile")
    with speedcopy_c.patched():
        assert _patch.patched_names() == list(_patch.FAMILY)
        with speedcopy_c.patched("copy2"):
            pass
        assert "copy2" in _patch.patched_names()
    assert _patch.patched_names() == ["copyfile"]
    with pytest.raises(ZeroDivisionError), speedcopy_c.patched("copy"):
        raise ZeroDivisionError
    assert _patch.patched_names() == ["copyfile"]


@pytest.mark.parametrize("name", _patch.FAMILY)
def test_looks_like_shutils(name):
    own = ORIGINALS[name]
    with speedcopy_c.patched():
        ours = getattr(shutil, name)
        assert ours is not own
        assert type(ours) is type(own)
        assert ours.__name__ == own.__name__
        assert ours.__qualname__ == own.__qualname__
        assert ours.__module__ == own.__module__
        assert ours.__doc__ == own.__doc__
        assert ours.__kwdefaults__ == own.__kwdefaults__
        a, b = inspect.signature(ours), inspect.signature(own)
        assert list(a.parameters) == list(b.parameters)
        for parameter in a.parameters:
            assert a.parameters[parameter].kind == b.parameters[parameter].kind
            if parameter != "copy_function":
                assert a.parameters[parameter].default == b.parameters[parameter].default


def test_default_of_trees_is_the_patched_copy2():
    with speedcopy_c.patched():
        for function in (shutil.copytree, shutil.move):
            default = inspect.signature(function).parameters["copy_function"].default
            assert default is shutil.copy2


@pytest.mark.parametrize("name", _patch.FAMILY)
def test_pickled_by_name(name):
    with speedcopy_c.patched():
        data = pickle.dumps(getattr(shutil, name))
        assert pickle.loads(data) is getattr(shutil, name)
    # Where nothing is patched, and perhaps nothing installed, it is shutil's.
    assert pickle.loads(data) is ORIGINALS[name]


def test_wrong_calls_raise_as_shutils_do(files):
    calls = [
        lambda f: f(),
        lambda f: f("a"),
        lambda f: f("a", "b", "c"),
        lambda f: f("a", "b", True, follow_symlinks=True),
        lambda f: f("a", "b", reflink="never"),
        lambda f: f("a", dst="b", src="c"),
    ]
    with speedcopy_c.patched():
        for call in calls:
            texts = []
            for function in (ORIGINALS["copyfile"], shutil.copyfile):
                with pytest.raises(TypeError) as caught:
                    call(function)
                texts.append(str(caught.value))
            assert texts[0] == texts[1]


def test_keywords(files):
    source, target = files
    with speedcopy_c.patched():
        assert shutil.copyfile(dst=target, src=source, follow_symlinks=False) is target
    assert open(target, "rb").read() == open(source, "rb").read()


def test_patched_copies_are_ours(files):
    source, target = files
    with speedcopy_c.patched(), speedcopy_c.trace() as records:
        shutil.copyfile(source, target)
        shutil.copy(source, target)
        shutil.copy2(source, target)
    assert [record.method for record in records] == ["read_write"] * 3


def test_trees_and_moves_copy_with_ours(tmp_path, monkeypatch):
    tree = tmp_path / "tree"
    (tree / "inner").mkdir(parents=True)
    (tree / "a").write_bytes(b"a")
    (tree / "inner" / "b").write_bytes(b"b")
    with speedcopy_c.patched(), speedcopy_c.trace() as records:
        shutil.copytree(tree, tmp_path / "copy")
    assert [record.method for record in records] == ["read_write"] * 2
    assert (tmp_path / "copy" / "inner" / "b").read_bytes() == b"b"


def test_trees_hand_entries_to_our_copy2_as_shutil_does(tmp_path):
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "a").write_bytes(b"a")
    with speedcopy_c.patched(), speedcopy_c.trace() as records:
        shutil.copytree(tmp_path / "tree", tmp_path / "one")
        shutil.copytree(tmp_path / "tree", tmp_path / "two", copy_function=shutil.copy)
    assert [type(record.src) for record in records] == [os.DirEntry] * 2


def test_trees_are_as_deep_as_shutils(tmp_path):
    """No frames of ours between shutil's."""
    code = """
        import os, shutil, sys, speedcopy_c
        os.chdir({place!r})
        def depth_of_failure():
            sys.setrecursionlimit(200)
            depth = 1
            while True:
                deep = os.path.join("t", *["d"] * depth)
                os.makedirs(deep, exist_ok=True)
                try:
                    shutil.copytree("t", "c")
                except RecursionError:
                    return depth
                finally:
                    shutil.rmtree("t"); shutil.rmtree("c", ignore_errors=True)
                depth += 5
        plain = depth_of_failure()
        speedcopy_c.patch_copyfile()
        print(plain - depth_of_failure())
    """
    assert run_python(code.format(place=str(tmp_path))).strip() == "0"


def test_class_attribute_binds_as_a_function_does():
    with speedcopy_c.patched():

        class Holder:
            copy = shutil.copy

        assert inspect.ismethod(Holder().copy)


def test_reload_of_shutil(files):
    source, target = files
    out = run_python(
        f"""
        import importlib, shutil, speedcopy_c
        speedcopy_c.patch_copyfile()
        ours = shutil.copyfile
        importlib.reload(shutil)
        assert shutil.copyfile is not ours
        speedcopy_c.patch_copyfile()
        assert shutil.copyfile is ours
        with speedcopy_c.trace() as records:
            shutil.copyfile({source!r}, {target!r})
        print(records[0].method, records[0].fallbacks)
        speedcopy_c.unpatch_copyfile()
        assert shutil.copyfile.__code__.co_filename == shutil.__file__
        print(shutil.copyfile is not ours)
        """
    )
    assert out.split() == ["read_write", "()", "True"]


def test_disabled_by_the_environment():
    out = run_python(
        """
        import shutil, speedcopy_c
        own = shutil.copyfile
        speedcopy_c.patch_copyfile()
        with speedcopy_c.patched():
            print(shutil.copyfile is own)
        """,
        SPEEDCOPY_DISABLE="1",
    )
    assert out.strip() == "True"


def test_importing_patches_nothing():
    out = run_python(
        """
        import shutil
        before = dict(vars(shutil))
        import speedcopy, speedcopy_c._patch
        print(before == vars(shutil))
        """
    )
    assert out.strip() == "True"


def test_early_bindings_are_found():
    out = run_python(
        """
        import sys, types
        early = types.ModuleType("early")
        exec("from shutil import copyfile, copy2 as c", early.__dict__)
        sys.modules["early"] = early
        import speedcopy_c
        speedcopy_c.patch_copyfile()
        print([x for x in speedcopy_c.early_bindings() if x[0] == "early"])
        """
    )
    assert out.strip() == "[('early', 'copyfile'), ('early', 'c')]"


def test_early_binding_still_copies_while_patched(files):
    source, target = files
    early = ORIGINALS["copy2"]
    with speedcopy_c.patched():
        assert early(source, target) == target
    assert os.stat(target).st_mtime_ns == os.stat(source).st_mtime_ns


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_fork_while_another_thread_patches():
    out = run_python(
        """
        import os, shutil, threading, warnings, speedcopy_c
        warnings.simplefilter("ignore")  # 3.12: fork with threads
        speedcopy_c.unpatch_copyfile()  # no fork while the thread imports
        stop = threading.Event()
        def flip():
            while not stop.is_set():
                speedcopy_c.patch_copyfile()
                speedcopy_c.unpatch_copyfile()
        thread = threading.Thread(target=flip)
        thread.start()
        codes = []
        for _ in range(50):
            pid = os.fork()
            if pid == 0:
                speedcopy_c.patch_copyfile()
                ok = shutil.copyfile is shutil.__dict__["copyfile"]
                speedcopy_c.unpatch_copyfile()
                os._exit(0 if ok and not hasattr(shutil, "_orig_copyfile") else 1)
            codes.append(os.waitpid(pid, 0)[1])
        stop.set()
        thread.join()
        print(set(codes))
        """
    )
    assert out.strip() == "{0}"


def test_interpreter_exit_while_patched(files):
    source, target = files
    run_python(
        f"""
        import atexit, shutil, threading, time, speedcopy_c
        speedcopy_c.patch_copyfile()
        class Last:
            def __del__(self):
                try:
                    shutil.copyfile({source!r}, {target!r})
                except Exception:
                    pass  # modules may be gone
        last = Last()
        def forever():
            while True:
                shutil.copyfile({source!r}, {target!r})
        threading.Thread(target=forever, daemon=True).start()
        time.sleep(0.05)
        """
    )


def test_threads_copy_while_patched_and_unpatched(files, tmp_path):
    """100,000 patches and unpatches; every copy is right, nothing is left."""
    source, _ = files
    content = open(source, "rb").read()
    stop = threading.Event()
    failures = []
    copies = [0] * 8

    def copy(number):
        target = str(tmp_path / f"target{number}")
        while not stop.is_set():
            try:
                shutil.copyfile(source, target)
                if copies[number] % 50 == 0 and open(target, "rb").read() != content:
                    failures.append("content")
            except Exception as error:
                failures.append(error)
            copies[number] += 1

    threads = [threading.Thread(target=copy, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    references = sys.getrefcount(ORIGINALS["copyfile"])
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    deadline = time.monotonic() + 90
    rounds = 0
    try:
        while rounds < 100_000 and time.monotonic() < deadline:
            speedcopy_c.patch_copyfile("copyfile")
            speedcopy_c.unpatch_copyfile("copyfile")
            rounds += 1
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        for thread in threads:
            thread.join()
    gc.collect()
    assert not failures
    assert all(copies)
    assert rounds == 100_000
    assert shutil.copyfile is ORIGINALS["copyfile"]
    assert not hasattr(shutil, "_orig_copyfile")
    assert sys.getrefcount(ORIGINALS["copyfile"]) <= references + 8


def _subinterpreters():
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            return importlib.import_module(name)
        except ImportError:
            pass
    return None


@pytest.mark.skipif(_subinterpreters() is None, reason="no subinterpreters in this Python")
def test_subinterpreter_patches_for_itself(files):
    source, target = files
    interpreters = _subinterpreters()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        identity = interpreters.create()
    code = textwrap.dedent(
        f"""
        import sys
        sys.path[:] = {sys.path!r}
        import shutil, speedcopy_c
        speedcopy_c.patch_copyfile()
        assert shutil._orig_copyfile is not shutil.copyfile
        shutil.copyfile({source!r}, {target!r})
        """
    )
    try:
        failure = interpreters.run_string(identity, code)
        assert failure is None, failure
    finally:
        interpreters.destroy(identity)
    assert _patch.patched_names() == []
    assert open(target, "rb").read() == open(source, "rb").read()


def test_overhead_is_small(files):
    """A patched call is a direct call and a look at the names.

    The bound is ten times what benchmarks/files.py measures on a quiet
    machine: this test is about a guard that does something foolish.
    """
    source, target = files

    def best(function):
        times = []
        for _ in range(7):
            started = time.perf_counter()
            for _ in range(300):
                function(source, target)
            times.append((time.perf_counter() - started) / 300)
        return min(times)

    with speedcopy_c.patched():
        patched = best(shutil.copyfile)
    assert patched - best(speedcopy_c.copyfile) < 8e-6
