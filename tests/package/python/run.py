# SPDX-License-Identifier: MIT
"""Runs the tests beside it on the installed package, or those of the folder that is named. Prints "ok NAME", "FAIL NAME" with what failed,
or "skip NAME: why". Status 1 after a failure."""
import os
import signal
import sys
import unittest


class Result(unittest.TestResult):
    @staticmethod
    def name(test):
        return "python " + str(test).split(" ")[0].replace("test_", "").replace("_", " ")

    def addSuccess(self, test):
        print("ok", self.name(test))

    def addSkip(self, test, reason):
        print(f"skip {self.name(test)}: {reason}")

    def failed(self, test, error):
        print("FAIL", self.name(test))
        for line in self._exc_info_to_string(error, test).splitlines()[-12:]:
            print("    " + line)

    def addError(self, test, error):
        super().addError(test, error)
        self.failed(test, error)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.failed(test, error)

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error:
            self.failed(test, error)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which shells have jobs in the background ignore
    result = Result()
    unittest.TestLoader().discover(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))).run(result)
    sys.exit(0 if result.wasSuccessful() and result.testsRun else 1)
