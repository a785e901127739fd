"""Decisions of the policy, on this host."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

from bench import commands, installation
from bench.rounds import Times
from bench.sizes import Setting

#: The goal: issue 7, "Proof".
MOST_SECONDS = 0.0005
_ROUNDS = 500


@dataclass(frozen=True)
class Decisions:
    """What was measured."""

    times: Times

    @property
    def goal_met(self) -> bool:
        """Every question has its answer in time, at the median, also the first time."""
        return all(self.times.median(name) <= MOST_SECONDS for name in self.times.seconds)


def measure(setting: Setting) -> Decisions:
    """Have questions decided."""
    setting.note("policy decisions")
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "decisions.py")
    python = installation.interpreter_of(setting.corral)
    return Decisions(Times(json.loads(commands.output([python, script, str(_ROUNDS)], setting.env))))
