"""The extension module; everything else is in pyproject.toml."""

import os
import sys
import sysconfig

from setuptools import Extension, setup

CORE = [
    "atomic_copy.c",
    "engine.c",
    "error.c",
    "file.c",
    "holes.c",
    "metadata.c",
    "read_write.c",
    "small.c",
    "verify.c",
]
PLATFORMS = {
    "linux": ["posix.c", "linux.c", "linux_filesystems.c", "linux_metadata.c"],
    "generic": ["posix.c", "generic.c"],
}
BINDING = [
    "audit.c",
    "convert.c",
    "errors.c",
    "file.c",
    "guard.c",
    "module.c",
    "nogil.c",
    "observe.c",
    "original.c",
]
WARNINGS = """
    -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes
    -Wmissing-prototypes -Wold-style-definition -Wundef -Wvla -Wformat=2
    -Wcast-qual -Wwrite-strings
""".split()


def platform():
    """The row of PLATFORMS to build; SPEEDCOPY_PLATFORM overrides."""
    name = os.environ.get("SPEEDCOPY_PLATFORM")
    if name is None:
        name = "linux" if sys.platform.startswith("linux") else "generic"
    if sys.platform == "win32":
        sys.exit("speedcopy-c does not build on Windows yet")
    return PLATFORMS[name]


def flags():
    if os.environ.get("SPEEDCOPY_WERROR") != "1":
        return ["-std=c11", "-fvisibility=hidden"]
    # Python's own headers are not ours to warn about.
    paths = {sysconfig.get_path(name) for name in ("include", "platinclude")}
    system = [flag for path in sorted(paths) for flag in ("-isystem", path)]
    return ["-std=c11", "-fvisibility=hidden", "-Werror", *WARNINGS, *system]


setup(
    ext_modules=[
        Extension(
            "speedcopy_c._core",
            sources=[
                f"src/{folder}/{name}"
                for folder, names in (
                    ("core", CORE),
                    ("platform", platform()),
                    ("python", BINDING),
                )
                for name in names
            ],
            define_macros=[("_GNU_SOURCE", None), ("_FILE_OFFSET_BITS", "64")],
            extra_compile_args=flags(),
            depends=[
                os.path.join(folder, name)
                for folder, _, names in os.walk("src")
                for name in names
                if name.endswith(".h")
            ],
        )
    ]
)
