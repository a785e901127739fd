"""Waiting for something that sends no event. Bounded; where there is an event, follow that instead."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_for(predicate: Callable[[], T | None], seconds: float = 20.0, what: str = "") -> T:
    """The first true answer of `predicate`; fails with `what` if there is none in time."""
    until = time.monotonic() + seconds
    pause = 0.005
    while not (answer := predicate()):
        left = until - time.monotonic()
        if left <= 0:
            raise AssertionError(f"not within {seconds:g} seconds: {what or predicate}")
        time.sleep(min(pause, left))
        pause = min(pause * 1.5, 0.1)
    return answer
