"""Loaded by a Python that has this directory in PYTHONPATH: its wall clock is off by what a file says at the moment.

A real jump of the clock would be that of the whole machine, and a time namespace moves only the clocks that nobody can
set. All that Corral's daemon knows of the wall clock is `time.time`; that this moves it is seen in what it answers.
"""

import os
import time

_FILE = os.environ.get("TEST_CLOCK_OFFSET", "")
_real = time.time


def _moved() -> float:
    try:
        with open(_FILE, encoding="ascii") as file:
            return _real() + float(file.read() or 0)
    except FileNotFoundError:
        return _real()


if _FILE:
    time.time = _moved
