"""The project's own rules (docs/design.rst, CONTRIBUTING.rst), as tests."""

import ast
import os
import re
import stat
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
MAX_FUNCTION = 60
MAX_FILE = 600
MAX_TEST_FILE = 700

pytestmark = pytest.mark.skipif(not SOURCE.is_dir(), reason="runs in the source tree only")

# What the core may include besides its own headers: nothing that an operating
# system adds to C11.
FREESTANDING = {
    *["limits.h", "stdatomic.h", "stdbool.h", "stddef.h", "stdint.h", "stdio.h"],  # snprintf
    *["stdlib.h", "string.h"],
}
# A platform is a file that the build picks, not a condition in a file.
PLATFORM_MACROS = re.compile(
    r"_WIN32|_WIN64|_MSC_VER|__MINGW\w*|__linux\w*|linux\b|__APPLE__|__unix\w*|__FreeBSD__"
    r"|__NetBSD__|__OpenBSD__|__sun\b|__ANDROID__|__CYGWIN__|MS_WINDOWS"
)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


def c_files(*folders):
    files = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.[ch]"))]
    return files or [pytest.param(None, marks=pytest.mark.skip(reason=f"no C in {folders}"))]


def name_of(path):
    return str(path.relative_to(ROOT)) if path else "none"


SOURCES = c_files("src")
C_TESTS = c_files("tests", "benchmarks")
PYTHON = sorted(
    path
    for path in [*ROOT.glob("*.py"), *(ROOT / "speedcopy_c").rglob("*.py")]
    if "build" not in path.parts
)
PYTHON_TESTS = sorted([*(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")])


def without_comments(text):
    """C text with comments, strings and characters blanked; lines stay."""

    def blank(match):
        found = match.group()
        if found[0] in "\"'":
            return found[0] + found[0]
        return re.sub(r"[^\n]", " ", found)

    pattern = r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    return re.sub(pattern, blank, text, flags=re.S)


def functions(text):
    """(name, first line, lines, is static) of each function of a C file.  The
    project's form: the braces of a function stand in the first column."""
    lines = without_comments(text).splitlines()
    found = []
    for number, line in enumerate(lines):
        if line.rstrip() != "{":
            continue
        first = number
        while first > 0 and not re.match(r"\s*$|[#}]|.*[;}]\s*$", lines[first - 1]):
            first -= 1
        head = " ".join(lines[first:number])
        name = re.search(r"(\w+)\s*\(", head)
        if name is None:
            continue  # a struct, or data
        end = next(n for n in range(number, len(lines)) if lines[n].startswith("}"))
        found.append((name.group(1), first + 1, end - first + 1, "static" in head.split()))
    return found


def folder_of(path):
    return path.relative_to(SOURCE).parts[0]


def test_there_is_something_to_check():
    found = [function for path in SOURCES for function in functions(path.read_text())]
    assert len(found) > 20
    assert {"core", "platform", "python"} <= {folder_of(path) for path in SOURCES}


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_includes_point_inward(path):
    """python -> core <- platform; and Python.h in one folder only."""
    folder = folder_of(path)
    allowed = {"core": {"core"}, "platform": {"core", "platform"}, "python": {"core", "python"}}
    for kind, included in INCLUDE.findall(path.read_text()):
        if kind == '"':
            target = (path.parent / included).resolve()
            assert target.is_file(), f"{included} is not beside {name_of(path)}"
            assert folder_of(target) in allowed[folder], included
        elif folder == "core":
            assert included in FREESTANDING, f"the core includes <{included}>"
        if folder != "python":
            assert "Python.h" not in included
            assert not included.startswith("cpython/")


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_no_condition_on_the_platform(path):
    if folder_of(path) == "platform":
        return
    text = without_comments(path.read_text())
    conditions = re.findall(r"^[ \t]*#[ \t]*(?:el)?if.*(?:\\\n.*)*", text, re.M)
    for condition in conditions:
        assert not PLATFORM_MACROS.search(condition), condition


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_size_of_c_source(path):
    assert len(path.read_text().splitlines()) <= MAX_FILE
    for name, line, length, _ in functions(path.read_text()):
        assert length <= MAX_FUNCTION, f"{name} (line {line}) has {length} lines"


@pytest.mark.parametrize("path", C_TESTS, ids=name_of)
def test_size_of_c_tests(path):
    assert len(path.read_text().splitlines()) <= MAX_TEST_FILE


@pytest.mark.parametrize("path", [*PYTHON, *PYTHON_TESTS], ids=name_of)
def test_size_of_python(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= (MAX_TEST_FILE if path in PYTHON_TESTS else MAX_FILE)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = node.end_lineno - node.lineno + 1
            assert length <= MAX_FUNCTION, f"{node.name} has {length} lines"


LIBRARY = [path for path in SOURCES if folder_of(path) != "python"]
DECLARATION = re.compile(r"^(?!static|typedef)[a-z][\w \t*]*?\b\n?(\w+)\s*\([^;{()]*\)\s*;", re.M)
EXTERN = re.compile(r"^extern\s[^;(]*?(\w+)\s*(?:\[[^;]*\])?;", re.M)


@pytest.mark.parametrize("path", LIBRARY, ids=name_of)
def test_public_symbols_have_the_prefix(path):
    """What libspeedcopy.a defines; the binding's are hidden, see below."""
    text = without_comments(path.read_text())
    if path.suffix == ".h":
        text = re.sub(r"^[ \t]*#.*(?:\\\n.*)*", "", text, flags=re.M)
        names = DECLARATION.findall(text) + EXTERN.findall(text)
    else:
        names = [name for name, *_, static in functions(text) if not static]
    assert [name for name in names if not name.startswith("sc_")] == []


def test_the_extension_exports_its_init_function_only():
    speedcopy_c = pytest.importorskip("speedcopy_c")
    try:
        listing = subprocess.run(
            ["nm", "-D", "--defined-only", speedcopy_c._core.__file__],
            stdout=subprocess.PIPE,
            check=True,
            encoding="utf-8",
        ).stdout
    except OSError as error:
        pytest.skip(f"no nm: {error}")
    names = {line.split()[-1] for line in listing.splitlines()}
    # Sanitizers and coverage add symbols of their own, which begin with _.
    assert {name for name in names if not name.startswith("_")} == {"PyInit__core"}


# --- texts ---------------------------------------------------------------------------

TEXT_SUFFIXES = {
    *[".c", ".cfg", ".h", ".in", ".ini", ".json", ".md", ".py", ".pyi", ".rst", ".sh", ".toml"],
    *[".txt", ".yaml", ".yml", ""],
}
NOT_OURS = {".git", ".tox", ".venv-tox", ".hypothesis", "build", "dist", "__pycache__"}


def our_texts():
    for folder, names, files in os.walk(ROOT):
        names[:] = sorted(
            name
            for name in names
            if name not in NOT_OURS
            and not name.startswith(".venv")
            and not name.endswith((".egg-info", "_cache"))
        )
        for name in sorted(files):
            path = Path(folder, name)
            if path.suffix in TEXT_SUFFIXES and not path.is_symlink():
                yield path


def lines_matching(pattern, paths):
    found = []
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if re.search(pattern, line):
                found.append(f"{name_of(path)}:{number}: {line.strip()[:100]}")
    return found


def test_nothing_is_left_to_do():
    # Written apart, so that this file does not contain them.
    words = "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"])
    assert lines_matching(rf"\b(?:{words})\b", our_texts()) == []


def test_no_path_of_one_machine():
    homes = [r"/home/[a-z]\w+", r"/Users/\w+", "/ro" + r"ot/", r"C:\\Users\\\w+"]
    found = lines_matching("|".join(homes), our_texts())
    # Inside a chroot or a guest the home directory is known.
    assert [line for line in found if not line.startswith("tests/rigs/")] == []


def test_every_text_ends_with_a_newline_and_no_line_with_a_space():
    paths = [path for path in our_texts() if path.suffix in (".c", ".h", ".py", ".rst", ".sh")]
    assert lines_matching(r"[ \t]$", paths) == []
    assert [name_of(path) for path in paths if path.read_bytes()[-1:] not in (b"", b"\n")] == []


@pytest.mark.parametrize("name", ["README.rst", "CHANGES.rst", "CONTRIBUTING.rst"])
def test_restructured_text(name):
    """As the package index renders it: a warning there shows plain text."""
    core = pytest.importorskip("docutils.core", reason="docutils is not installed")
    settings = {
        "halt_level": 2,
        "report_level": 2,
        "raw_enabled": False,
        "file_insertion_enabled": False,
    }
    text = (ROOT / name).read_text(encoding="utf-8")
    core.publish_doctree(text, settings_overrides=settings)


def version():
    text = (ROOT / "speedcopy_c" / "__init__.py").read_text(encoding="utf-8")
    return re.search(r'^__version__ = "([^"]+)"', text, re.M).group(1)


def test_changes_name_the_version():
    release = re.sub(r"\.?dev\d*$", "", version())
    titles = re.findall(r"^(\S.*)\n[=\-~]{3,}$", (ROOT / "CHANGES.rst").read_text(), re.M)
    assert any(release in title for title in titles), titles


def test_every_difference_names_its_test():
    """docs/differences.rst: each numbered entry holds ``test_...`` names, each
    of which is a test function, or ``tests/...``, a file."""
    text = (ROOT / "docs" / "differences.rst").read_text(encoding="utf-8")
    defined = set()
    for path in PYTHON_TESTS:
        defined.update(re.findall(r"^\s*def (test_\w+)", path.read_text(encoding="utf-8"), re.M))
    for path in C_TESTS:
        if isinstance(path, Path):
            defined.update(re.findall(r"\btest_\w+", path.read_text()))
    entries = re.split(r"^(?=\d+\. |#\. )", text, flags=re.M)[1:]
    assert entries, "no numbered entry"
    for entry in entries:
        title = entry.splitlines()[0]
        names = re.findall(r"\btest_\w+(?!\w*\.)", re.sub(r"tests/[\w/]+\.\w+", "", entry))
        files = re.findall(r"tests/[\w/]+\.\w+", entry)
        assert names, f"no test: {title}"
        assert [name for name in names if name not in defined] == [], title
        assert [name for name in files if not (ROOT / name).is_file()] == [], title


def test_scripts_are_executable():
    scripts = [ROOT / ".ci" / "run", *(ROOT / "tests" / "rigs").rglob("*.sh")]
    assert len(scripts) > 1
    for path in scripts:
        assert stat.S_IMODE(path.stat().st_mode) & 0o111 == 0o111, name_of(path)
        assert path.read_text().startswith("#!"), name_of(path)


def test_readme_marks_its_test_command():
    """.ci/run runs what README.rst says, between these comments."""
    text = (ROOT / "README.rst").read_text(encoding="utf-8")
    assert text.count(".. test-command-begin") == 1
    assert text.count(".. test-command-end") == 1


def test_tests_are_no_package():
    """So that they import the installed speedcopy_c, not the source tree."""
    assert not (ROOT / "tests" / "__init__.py").exists()
