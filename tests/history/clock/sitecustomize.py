"""Loaded by a Python that has this directory in PYTHONPATH: its clocks are off by what a test says.

The wall clock, by what a file says at the moment. A real jump of it would be that of the whole machine, and a time
namespace moves only the clocks that nobody can set. All that Corral's daemon knows of the wall clock is `time.time`;
that this moves it is seen in what it answers.

The clock that nobody can set, by a number, for as long as the process runs: so that a test has hours pass between two
daemons. Only a daemon's: what runs on meanwhile has not been there for so long.
"""

import os
import time

_FILE = os.environ.get("TEST_CLOCK_OFFSET", "")
_AHEAD = float(os.environ.get("TEST_MONOTONIC_OFFSET") or 0)
_real = time.time
_real_monotonic = time.monotonic


def _moved() -> float:
    try:
        with open(_FILE, encoding="ascii") as file:
            return _real() + float(file.read() or 0)
    except FileNotFoundError:
        return _real()


def _moved_monotonic() -> float:
    return _real_monotonic() + _AHEAD


def _is_daemon() -> bool:
    with open("/proc/self/cmdline", "rb") as file:
        return b"corral\0daemon\0run\0" in file.read()


if _FILE:
    time.time = _moved
if _AHEAD and _is_daemon():
    time.monotonic = _moved_monotonic
