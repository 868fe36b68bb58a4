"""Runs all tests with this Python, and prints how many passed and failed."""
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(HERE), HERE]
from support import Simulator

tests = unittest.defaultTestLoader.discover(HERE)
result = unittest.TextTestRunner(verbosity=int(os.environ.get("VERBOSE", 1))).run(tests)
Simulator.clean_up()
failed = len(result.failures) + len(result.errors)
print("%d passed, %d failed" % (result.testsRun - failed - len(result.skipped), failed))
sys.exit(1 if failed or not result.testsRun else 0)
