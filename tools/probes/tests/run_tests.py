"""Runs the tests of this folder.

    python3 tools/probes/tests/run_tests.py [NAME]...

NAME is a module, class or test, as unittest has it. Where SLUICE_REPORTS names a folder, the results are written there
as the steps of the project's tests want them (scripts/reports.mjs).
"""

from __future__ import annotations

import json
import os
import sys
import time
import unittest
from typing import Any

FOLDER = os.path.dirname(os.path.abspath(__file__))
# What takes longer is named with its time.
SLOW_S = 1.0


class Results(unittest.TextTestResult):
    """Collects how each test ended, and says which were slow."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.tests: list[dict[str, str]] = []
        self.wrong: list[str] = []
        self.skip_reason: str | None = None
        self.began = 0.0

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self.wrong, self.skip_reason, self.began = [], None, time.monotonic()

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        super().addError(test, err)
        self.wrong.append(self.errors[-1][1])
        # What fails outside of a test: a module that can't be loaded, a class's set-up.
        if not isinstance(test, unittest.TestCase):
            self.tests.append({"name": str(test), "state": "failed", "said": self.wrong[-1]})

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        super().addFailure(test, err)
        self.wrong.append(self.failures[-1][1])

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.wrong.append(f"{subtest}: {err[1]}")

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        super().addSkip(test, reason)
        self.skip_reason = reason

    def stopTest(self, test: unittest.TestCase) -> None:
        super().stopTest(test)
        seconds = time.monotonic() - self.began
        if seconds > SLOW_S:
            print(f"{test.id()}: {seconds:.1f} s")
        state = "failed" if self.wrong else "passed" if self.skip_reason is None else "skipped"
        self.tests.append({"name": test.id(), "state": state, "said": "\n".join(self.wrong)})


def write_report(tests: list[dict[str, str]]) -> None:
    """Writes the report, if one is wanted."""
    folder = os.environ.get("SLUICE_REPORTS", "")
    if folder == "":
        return
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, f"{os.getpid()}-0.json"), "w", encoding="utf-8") as file:
        json.dump(tests, file)


def main(names: list[str]) -> int:
    """Runs the tests. Returns the exit status: 1 if one failed, or if there are none."""
    # The matrices are small: threads for them would only wait for each other. Read when numpy is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.path[:0] = [FOLDER, os.path.dirname(FOLDER)]
    loader = unittest.TestLoader()
    suite = (
        loader.loadTestsFromNames(names) if names else loader.discover(FOLDER, top_level_dir=FOLDER)
    )
    result = unittest.TextTestRunner(resultclass=Results).run(suite)
    assert isinstance(result, Results)
    write_report(result.tests)
    return 0 if result.wasSuccessful() and result.testsRun > 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
