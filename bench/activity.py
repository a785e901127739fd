"""What every agent of a team does, refreshed: in one question to tmux, beside one process for each agent."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass

from bench import screens
from bench.installation import ROOT, interpreter_of
from bench.rounds import Ratio, Times
from bench.sizes import Setting

_SECONDS = 600


@dataclass(frozen=True, kw_only=True)
class Activity:
    """The results with one number of agents."""

    agents: int
    times: Times

    @property
    def ratios(self) -> list[Ratio]:
        return [self.times.ratio(screens.EACH, screens.CORRAL)]


def measure(setting: Setting, agents: int) -> Activity:
    """Measure both ways with so many agents."""
    setting.note(f"what {agents} agents do")
    directory = os.path.join(setting.runtime, "activity")
    os.mkdir(directory)
    program = os.path.join(ROOT, "bench", "screens.py")
    argv = [interpreter_of(setting.corral), program, str(agents), str(setting.rounds), directory]
    done = subprocess.run(argv, env=setting.env, stdout=subprocess.PIPE, text=True, timeout=_SECONDS, check=True)
    return Activity(agents=agents, times=Times(json.loads(done.stdout)))
