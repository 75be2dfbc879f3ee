"""The loop mounts for tests: what is missing becomes a skip, or in CI, where
SPEEDCOPY_REQUIRE_RIGS=1 is set, a failure."""

import os

import pytest
from support.privilege import Unavailable

from . import mounts


def unavailable(reason):
    if os.environ.get("SPEEDCOPY_REQUIRE_RIGS") == "1":
        pytest.fail(f"a rig is required and missing: {reason}")
    pytest.skip(str(reason))


class Places:
    """The methods of a `mounts.Rig`."""

    def __init__(self, base):
        self._counter = 0
        self._rig = None
        try:
            self._rig = mounts.Rig(base)
        except Unavailable as error:
            self._reason = str(error)

    def __getattr__(self, name):
        if self._rig is None:
            unavailable(self._reason)
        method = getattr(self._rig, name)

        def call(*arguments):
            try:
                return method(*arguments)
            except Unavailable as error:
                unavailable(error)

        return call

    def fresh(self, name):
        """A new directory on the file system of that name."""
        top = self.directory(name)
        self._counter += 1
        place = top / f"work-{self._counter}"
        place.mkdir()
        return place

    def close(self):
        if self._rig is not None:
            self._rig.close()
