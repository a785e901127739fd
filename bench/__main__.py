"""`python -m bench`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile

from bench import (
    activity,
    audit,
    authorised,
    commands,
    coordination,
    doctor,
    installation,
    observing,
    policy,
    processes,
    report,
    sends,
    sizes,
    teardown,
)
from bench.sizes import IDLE, LIST, START, Setting

TEARDOWN, DOCTOR, PROCESSES, COORDINATION = "teardown", "doctor", "processes", "coordination"
ACTIVITY, SEND, AUDIT, POLICY, OBSERVING = "activity", "send", "audit", "policy", "observing"
AUTHORISED = "authorised"
_AT_EVERY_SIZE = (START, LIST, IDLE)
_PARTS = (
    *_AT_EVERY_SIZE,
    TEARDOWN,
    DOCTOR,
    PROCESSES,
    COORDINATION,
    ACTIVITY,
    SEND,
    AUDIT,
    POLICY,
    OBSERVING,
    AUTHORISED,
)


def main() -> int:
    """Measure what is asked for and print it."""
    options = _options()
    if shutil.which("tmux") is None:
        raise SystemExit("bench: tmux is missing: apt-get install tmux")
    with (
        tempfile.TemporaryDirectory(prefix="cb-", dir=options.directory) as directory,
        tempfile.TemporaryDirectory(prefix="cb-", dir=_memory_directory()) as runtime,
    ):
        corral = options.corral
        if corral is None:
            _note("building a wheel and installing it")
            corral = installation.install(os.path.join(directory, "venv"))
        setting = Setting(
            corral=corral,
            directory=directory,
            runtime=runtime,
            env=commands.environment(directory),
            rounds=options.rounds,
            ps_rounds=options.ps_rounds,
            idle_seconds=options.idle_seconds,
            note=_note,
            parts=options.only or _PARTS,
        )
        machine = _machine(setting)
        counts = sorted({*options.growth, options.agents}) if set(setting.parts) & set(_AT_EVERY_SIZE) else []
        results = report.Results(
            [sizes.measure(setting, count, all_peers=count == options.agents) for count in counts],
            _teardown(setting, options) if TEARDOWN in setting.parts else None,
            doctor.measure(setting, options.processes) if DOCTOR in setting.parts else None,
            processes.measure(setting, options.background) if PROCESSES in setting.parts else None,
            coordination.measure(setting, options.clients, options.load_seconds)
            if COORDINATION in setting.parts
            else None,
            activity.measure(setting, options.agents) if ACTIVITY in setting.parts else None,
            sends.measure(setting) if SEND in setting.parts else None,
            audit.measure(setting) if AUDIT in setting.parts else None,
            policy.measure(setting) if POLICY in setting.parts else None,
            observing.measure(setting) if OBSERVING in setting.parts else None,
            authorised.measure(setting) if AUTHORISED in setting.parts else None,
        )
    _note("")
    if options.json:
        print(json.dumps(report.as_json(machine, results), indent=2))
    else:
        print(report.as_text(machine, results, options.agents), end="")
    return 0


def _teardown(setting: Setting, options: argparse.Namespace) -> teardown.Teardown:
    return teardown.measure(setting, options.agents, options.descendants, options.teardown_rounds)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Corral side by side with its peers.")
    parser.add_argument("--only", action="append", choices=_PARTS, help="measure this part; more than once for several")
    parser.add_argument("--agents", type=int, default=100, help="size of the team for the comparison with all peers")
    parser.add_argument("--growth", type=_counts, default=[10, 100, 500], help="other sizes, 10,100,500 by default")
    parser.add_argument("--rounds", type=int, default=9, help="times that each way to start the team is measured")
    parser.add_argument("--ps-rounds", type=int, default=41, help="times that each way to list the team is measured")
    parser.add_argument("--idle-seconds", type=float, default=60.0, help="how long to watch the idle team")
    parser.add_argument("--descendants", type=int, default=10, help="stubborn processes of each agent to take down")
    parser.add_argument("--teardown-rounds", type=int, default=5, help="times that each way to end it is measured")
    parser.add_argument("--processes", type=int, default=2000, help="size of the crowd in which the doctor is measured")
    parser.add_argument("--background", type=int, default=1000, help="background processes that run at once")
    parser.add_argument("--clients", type=int, default=16, help="clients that agree at once")
    parser.add_argument("--load-seconds", type=float, default=3.0, help="how long clients work in each round")
    parser.add_argument("--corral", help="an installed command to measure, instead of a wheel of this tree")
    parser.add_argument("--directory", help="where to put CORRAL_HOME: on a real disk; $TMPDIR by default")
    parser.add_argument("--json", action="store_true", help="every number as one JSON document")
    return parser.parse_args()


def _counts(text: str) -> list[int]:
    return [int(word) for word in text.split(",") if word]


def _memory_directory() -> str | None:
    """Where sockets and launch files of a logged-in person are: $XDG_RUNTIME_DIR, which is in memory."""
    candidates = (os.environ.get("XDG_RUNTIME_DIR"), "/dev/shm")  # a directory of its own is made in it # nosec B108
    return next((path for path in candidates if path and os.access(path, os.W_OK)), None)


def _machine(setting: Setting) -> dict[str, str]:
    python = installation.interpreter_of(setting.corral)
    return {
        "system": f"{platform.system()} {platform.release()} {platform.machine()}, {os.cpu_count()} processors",
        "tmux": commands.output(["tmux", "-V"], setting.env).strip(),
        "python": commands.output([python, "-V"], setting.env).strip(),
        "corral": commands.output([setting.corral, "--version"], setting.env).strip(),
        "CORRAL_HOME below": setting.directory,
        "CORRAL_RUNTIME_DIR below": setting.runtime,
        "load before": " ".join(f"{load:.2f}" for load in os.getloadavg()),
    }


def _note(what: str) -> None:
    """What is being done, on one line that is drawn again; nothing where nobody watches."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{what}")
        sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
