"""Who takes part: ours, the shutil of each Python, loops in Python, cp, packages, the C floor."""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field

HERE = os.path.dirname(os.path.abspath(__file__))
WORKER = os.path.join(HERE, "worker.py")
FLOOR_SOURCE = os.path.join(HERE, "floor.c")

OURS = "ours"
BASELINE_PYTHON = "3.13"
SMALL_LIMIT = 64 << 10
OPERATIONS = ("copyfile", "copy2")
RIVAL_PACKAGES = ("speedcopy", "pyfastcopy", "reflink-copy")
FLOOR_LOOPS = {
    "C rw 512K": "rw:524288",
    "C rw 1M": "rw:1048576",
    "C copy_file_range": "cfr",
    "C sendfile": "sendfile",
    "C clone": "clone",
}
FLOOR_SMALL = "C floor"
CLONING = {"xfs", "btrfs"}


class ContestantError(Exception):
    """A contestant could not do what it was asked."""


@dataclass
class Contestant:
    """A process that copies when it is told to; see worker.py for the protocol."""

    name: str
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    methods: dict[str, str] = field(default_factory=lambda: {name: name for name in OPERATIONS})
    smallest: int = 0
    largest: int | None = None
    targets: tuple[str, ...] = ("new", "existing")
    filesystems: frozenset[str] | None = None
    version: str = ""
    process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start the process and wait until it is ready."""
        if self.process is not None:
            return
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **self.environment},
        )
        status, _, self.version = self._read().partition("\t")
        if status != "ready":
            raise ContestantError(f"{self.name}: {self.version or 'did not start'}")

    def _read(self) -> str:
        assert self.process is not None and self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def copy(self, operation: str, count: int, source: str, prefix: str, verb: str = "run") -> int:
        """Let it copy one batch; the time that it took in nanoseconds."""
        self.start()
        assert self.process is not None and self.process.stdin is not None
        try:
            self.process.stdin.write(
                "\t".join([verb, self.methods[operation], str(count), source, prefix]) + "\n"
            )
            self.process.stdin.flush()
        except BrokenPipeError:
            raise ContestantError(f"{self.name}: ended") from None
        status, _, rest = self._read().partition("\t")
        if status != "ok":
            raise ContestantError(rest or "ended")
        return int(rest)

    def stop(self) -> None:
        """Let the process end."""
        if self.process is not None:
            self.process.communicate()
            self.process = None

    def takes_part(self, filesystem: str, size: int, operation: str, target: str) -> bool:
        """Whether this one can or should do a scenario."""
        return (
            operation in self.methods
            and target in self.targets
            and size >= self.smallest
            and (self.largest is None or size <= self.largest)
            and (self.filesystems is None or filesystem in self.filesystems)
        )


def python_version(python: str) -> str | None:
    """Version of an interpreter such as 3.13, None if it can't be run or is too old for us."""
    command = [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    try:
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
    return text if tuple(map(int, text.split("."))) >= (3, 9) else None


def find_pythons(extra: list[str]) -> dict[str, str]:
    """Interpreters by version: those named come first, then this one, then those of pyenv."""
    versions = os.path.join(
        os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv")), "versions"
    )
    found: dict[str, str] = {}
    for python in [
        *extra,
        sys.executable,
        *sorted(glob.glob(os.path.join(versions, "*", "bin", "python"))),
    ]:
        version = python_version(python)
        if version is None and python in extra:
            raise ContestantError(f"{python} is no Python that can be measured")
        if version is not None:
            found.setdefault(version, python)
    return dict(sorted(found.items(), key=lambda item: tuple(map(int, item[0].split(".")))))


def ours(module: str, python: str, path: str, options: list[str] | None = None) -> Contestant:
    """Our module (or, as a stand-in, shutil), with keyword arguments for each call."""
    name = " ".join([OURS, *(options or [])])
    command = [python, WORKER, "module", module, *(options or [])]
    return Contestant(name, command, {"PYTHONPATH": path})


def shutils(pythons: dict[str, str]) -> list[Contestant]:
    """The shutil of each interpreter."""
    return [
        Contestant(f"shutil {version}", [python, WORKER, "shutil"])
        for version, python in pythons.items()
    ]


def python_loops(python: str) -> list[Contestant]:
    """Loops of the in-kernel calls, written in Python."""
    return [
        Contestant("os.copy_file_range", [python, WORKER, "copy_file_range"]),
        Contestant("os.sendfile", [python, WORKER, "sendfile"]),
    ]


def programs(python: str) -> list[Contestant]:
    """cp, for files that are large enough not to measure the start of a process."""
    program = shutil.which("cp")
    if program is None:
        return []
    return [Contestant("cp", [python, WORKER, "cp", program], smallest=SMALL_LIMIT)]


def packages(directory: str | None) -> list[Contestant]:
    """Packages that rivals/setup.sh has installed."""
    found = []
    for name in RIVAL_PACKAGES if directory else ():
        python = os.path.join(directory or "", name, "bin", "python")
        if os.path.exists(python):
            found.append(Contestant(name, [python, WORKER, name]))
            if name == "reflink-copy":
                found[-1].targets = ("new",)
    return found


def build_floor(directory: str, compiler: str | None = None) -> str:
    """Compile floor.c; the program's path."""
    program = os.path.join(directory, "floor")
    warnings = ["-Wall", "-Wextra", "-Wconversion", "-Werror"]
    compiler = compiler or os.environ.get("CC", "cc")
    subprocess.run(
        [compiler, "-std=c11", "-O2", *warnings, "-o", program, FLOOR_SOURCE], check=True
    )
    return program


def floors(program: str) -> list[Contestant]:
    """The C floor: the small copy, and the loops for large files."""
    found = [floor_with(program, FLOOR_SMALL, "small")]
    found[0].largest = SMALL_LIMIT
    for name, method in FLOOR_LOOPS.items():
        loop = floor_with(program, name, method)
        loop.smallest = SMALL_LIMIT
        if method == "clone":
            loop.filesystems = frozenset(CLONING)
        found.append(loop)
    return found


def floor_with(program: str, name: str, method: str) -> Contestant:
    """The floor with one method."""
    return Contestant(name, [program], methods={"copyfile": method, "copy2": method + "+meta"})


def choose(contestants: list[Contestant], pattern: str | None) -> list[Contestant]:
    """Those whose name matches; ours always."""
    if pattern is None:
        return contestants
    return [one for one in contestants if one.name == OURS or re.search(pattern, one.name)]
