"""How long `corral doctor` takes on a host with many processes.

Half of the processes carry the marker of a team that is up, as the background processes of agents do; the other half
is the rest of the host.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from bench.commands import timed
from bench.instance import running
from bench.rounds import Times, take_turns
from bench.sizes import Setting

#: The goal: issue 3, "How good".
MOST_SECONDS = 0.5
DOCTOR = "corral doctor"
_AGENTS = 10
_CROWD = 'i=0; while [ $i -lt "$1" ]; do sleep 1000 & i=$((i+1)); done; echo ready; wait'


@dataclass(frozen=True, kw_only=True)
class Round:
    """The results in one crowd."""

    processes: int
    times: Times

    @property
    def met(self) -> bool:
        return self.times.median(DOCTOR) < MOST_SECONDS


def measure(setting: Setting, processes: int) -> Round:
    """Measure the doctor in a crowd of so many processes."""
    directory, runtime = os.path.join(setting.directory, "doctor"), os.path.join(setting.runtime, "doctor")
    with running(setting.corral, directory, runtime, setting.env) as instance:
        instance.declare(_AGENTS)
        instance.up()
        half = processes // 2
        with crowd(half, setting.env), crowd(processes - half, {**instance.env, **_marks(runtime)}):
            times = take_turns(
                {DOCTOR: lambda: timed([setting.corral, "doctor", "--json"], instance.env, directory)},
                setting.rounds,
                lambda what: setting.note(f"doctor among {processes} processes, {what}"),
            )
        instance.down()
    return Round(processes=processes, times=times)


@contextmanager
def crowd(count: int, env: Mapping[str, str]) -> Iterator[None]:
    """`count` processes that sleep, with this environment, in a group of their own that goes away again."""
    shell = subprocess.Popen(
        ["sh", "-c", _CROWD, "sh", str(count)], env=dict(env), stdout=subprocess.PIPE, start_new_session=True
    )
    try:
        assert shell.stdout is not None
        shell.stdout.readline()
        yield
    finally:
        os.killpg(shell.pid, 9)
        shell.communicate()


def _marks(runtime: str) -> dict[str, str]:
    """The environment of an agent of the team, without what is different in each."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    variables = dict(
                        entry.split("=", 1) for entry in os.fsdecode(file.read()).split("\0") if "=" in entry
                    )
            except OSError:
                continue
            if variables.get("CORRAL_RUN") and variables.get("CORRAL_RUNTIME_DIR") == runtime:
                return {key: value for key, value in variables.items() if key.startswith("CORRAL_")}
    raise SystemExit("bench: no process of an agent was found")
