"""Check what `python -m build` made in a directory: the files in the sdist
and the wheel, and that the wheel works in an environment of its own.

    python check.py DIRECTORY
"""

import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

# One of each in the sdist: it has to build, and its tests have to run.
IN_SDIST = """
    .clang-format .clang-tidy CHANGES.rst CONTRIBUTING.rst LICENSE MANIFEST.in PKG-INFO README.rst
    benchmarks/README.rst docs/design.rst docs/differences.rst pyproject.toml setup.py speedcopy.py
    speedcopy_c/__init__.py speedcopy_c/_core.pyi speedcopy_c/py.typed src/core/speedcopy.h
    src/platform/generic.c src/python/module.c tests/conftest.py tests/core/Makefile
    tests/rigs/filesystems/mounts.py tests/rigs/pythons/run.sh tests/test_filesystems.py tox.ini
""".split()
NEVER = re.compile(r"(^|/)(__pycache__|\.git|\.tox|build|out)(/|$)|\.(pyc|o|a|orig|rej)$")
PROBE = """
import os, shutil, sys
import speedcopy, speedcopy_c
assert speedcopy is speedcopy_c
assert speedcopy_c.__file__.startswith(sys.prefix), speedcopy_c.__file__
with open("source", "wb") as file:
    file.write(b"content" * 50_000)
with speedcopy_c.trace() as records:
    assert speedcopy_c.copy2("source", "target") == "target"
assert os.path.getsize("target") == 350_000 == records[0].bytes
print("copied by", records[0].method)
"""


def names_in(archive):
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as file:
            return file.namelist()
    with tarfile.open(archive) as file:
        members = [member for member in file.getmembers() if member.isfile()]
    top = archive.name[: -len(".tar.gz")] + "/"
    outside = [member.name for member in members if not member.name.startswith(top)]
    assert not outside, f"outside of {top}: {outside}"
    return [member.name[len(top) :] for member in members]


def check_sdist(archive):
    assert re.fullmatch(r"speedcopy_c-[0-9.]+(?:[a-z]+\d*|\.dev\d+)*\.tar\.gz", archive.name)
    names = names_in(archive)
    missing = sorted(set(IN_SDIST) - set(names))
    assert not missing, f"not in the sdist: {missing}"
    sources = [name for name in names if name.endswith((".c", ".h")) and name.startswith("src/")]
    here = Path(__file__).resolve().parents[3]
    expected = [str(path.relative_to(here)) for path in (here / "src").rglob("*.[ch]")]
    assert sorted(sources) == sorted(expected), "sources of the tree and of the sdist differ"
    check_nothing_else(names, (".so", ".pyd"))


def check_wheel(archive, sdist):
    names = names_in(archive)
    package = [name for name in names if not re.match(r"speedcopy_c-[^/]+\.dist-info/", name)]
    extensions = [name for name in package if name.startswith("speedcopy_c/_core.")]
    assert len([name for name in extensions if name.endswith((".so", ".pyd"))]) == 1, extensions
    wanted = {
        name
        for name in names_in(sdist)
        if name == "speedcopy.py"
        or (name.startswith("speedcopy_c/") and name.endswith((".py", ".pyi", "py.typed")))
    }
    others = set(package) - {name for name in extensions if not name.endswith(".pyi")}
    assert others == wanted, sorted(others ^ wanted)
    assert any(name.endswith("/LICENSE") for name in names)
    check_nothing_else(names, (".c", ".h"))


def check_nothing_else(names, suffixes):
    wrong = [name for name in names if NEVER.search(name) or name.endswith(suffixes)]
    assert not wrong, wrong


def check_installation(wheel):
    with tempfile.TemporaryDirectory() as directory:
        environment = Path(directory, "environment")
        venv.create(environment, with_pip=True)
        python = environment / "bin" / "python"
        install = ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", wheel]
        subprocess.run([python, *install], check=True)
        subprocess.run([python, "-c", PROBE], check=True, cwd=directory)
        subprocess.run([python, "-m", "speedcopy", "info"], check=True, cwd=directory)
        subprocess.run(
            [environment / "bin" / "speedcopy", "--help"],
            check=True,
            cwd=directory,
            stdout=subprocess.DEVNULL,
        )


def main():
    directory = Path(sys.argv[1])
    (sdist,) = directory.glob("*.tar.gz")
    (wheel,) = directory.glob("*.whl")
    check_sdist(sdist)
    check_wheel(wheel, sdist)
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", sdist, wheel], check=True)
    check_installation(wheel)
    print("the distribution is as it should be")


if __name__ == "__main__":
    main()
