"""Telling a person how far long work is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One step of long work."""

    agent: str
    step: str
    detail: str = ""
    done: int = 0
    of: int = 0


Tell = Callable[[Progress], None]
