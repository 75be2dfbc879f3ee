"""Run unmodified test suites of the standard library, patched or not.

    python run_suite.py MODE SUITE...

MODE is "plain", "guarded" (patched), or "unguarded" (patched, with the guard
against rebound names turned off).  Prints one JSON object: the outcome of
every test by its name.
"""

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest


class Outcomes(unittest.TestResult):
    """Remembers each test's outcome."""

    def __init__(self):
        super().__init__()
        self.outcomes = {}
        self.details = {}

    def _note(self, test, outcome, detail=""):
        # A subtest that failed counts for its test.
        name = getattr(test, "test_case", test).id()
        if self.outcomes.get(name) not in ("failure", "error"):
            self.outcomes[name] = outcome
        if detail:
            self.details[name] = detail

    def addSuccess(self, test):
        self._note(test, "success")

    def addSkip(self, test, reason):
        self._note(test, "skip")

    def addExpectedFailure(self, test, err):
        self._note(test, "expected failure")

    def addUnexpectedSuccess(self, test):
        self._note(test, "unexpected success")

    def addFailure(self, test, err):
        self._note(test, "failure", self._exc_info_to_string(err, test))

    def addError(self, test, err):
        self._note(test, "error", self._exc_info_to_string(err, test))

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self._note(test, "failure", self._exc_info_to_string(err, test))


def main(mode, suites):
    """Run and print."""
    if mode != "plain":
        import speedcopy_c
        from speedcopy_c import _core

        speedcopy_c.patch_copyfile()
        if mode == "unguarded":
            _core._set_guard(False)
    result = Outcomes()
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        loader = unittest.TestLoader()
        suite = unittest.TestSuite(loader.loadTestsFromName(f"test.{name}") for name in suites)
        with contextlib.redirect_stdout(io.StringIO()):
            suite.run(result)
        os.chdir("/")
    json.dump({"outcomes": result.outcomes, "details": result.details}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
