"""How long it takes to see what many agents do: run by the Python of Corral.

    python screens.py AGENTS ROUNDS DIRECTORY    lists of seconds by contestant, as JSON

The agents are panes of one tmux server that show what a coding agent shows. Corral reads all of them in one question
and applies the rules of the profile; the other way is a `tmux capture-pane` process for each, without any rules.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import subprocess
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corral.domain.screens import Reading

CORRAL, EACH = "corral: one question, and the rules", "one tmux capture-pane process each"

_PAINTING_SECONDS = 60.0
_LINES = [
    *(f"● Read(src/module_{number}.py)" for number in range(12)),
    *(f"  ⎿  Read {number} lines, and thought about each of them for a while" for number in range(12)),
    "✻ Pondering… (4s · ↓ 88 tokens · esc to interrupt)",
    "",
    "─" * 120,
    "❯ ",
    "─" * 120,
    "  ? for shortcuts",
]


def main() -> int:
    """Measure both in turns."""
    agents, rounds, directory = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    print(json.dumps(asyncio.run(measure(agents, rounds, directory))))
    return 0


async def measure(agents: int, rounds: int, directory: str) -> dict[str, list[float]]:
    """The seconds of each round but the first, which does not count."""
    from corral.adapters.tmux.control import ControlClient
    from corral.adapters.tmux.screens import read_screens
    from corral.agents import catalogue

    profile = catalogue.by_name("claude")
    assert profile is not None
    base = ["tmux", "-u", "-S", os.path.join(directory, "screens.sock"), "-f", "/dev/null"]
    painted = os.path.join(directory, "screen.txt")
    with open(painted, "w", encoding="utf-8") as file:
        file.write("\033]2;✳ Claude Code\007" + "\n".join(_LINES))
    closed = asyncio.Event()
    client = await ControlClient.open(
        [*base, "-C", "new-session", "-x", "200", "-y", "50", "exec cat"],
        dict(os.environ),
        on_output=lambda *_: None,
        on_pause=lambda _: None,
        on_closed=lambda _: closed.set(),
        on_late_answer=lambda: None,
    )
    panes: list[str] = []

    async def look() -> list[Reading | None]:
        shown = await read_screens(client, panes, scratch_dir=directory)
        return [profile.reading(screen.lines, screen.title) for screen in shown.values()]

    try:
        program = f"cat {shlex.quote(painted)}; exec cat"
        start = ["new-session", "-d", "-x", "200", "-y", "50", "-P", "-F", "#{pane_id}", program]
        panes += [reply[0][0] for reply in await client.ask_many([[start]] * agents, seconds=60)]
        # On a busy machine it takes a moment until all is painted, which is nobody's to measure.
        async with asyncio.timeout(_PAINTING_SECONDS):
            while any(reading is None for reading in await look()):
                pass
        times: dict[str, list[float]] = {CORRAL: [], EACH: []}
        for number in range(rounds + 1):
            began = time.perf_counter()
            read = await look()
            took = {CORRAL: time.perf_counter() - began}
            if number and any(reading is None or reading.rule.says != "idle" for reading in read):
                raise SystemExit("bench: a screen was not understood")
            began = time.perf_counter()
            for pane in panes:
                subprocess.run([*base, "capture-pane", "-p", "-t", pane], stdout=subprocess.DEVNULL, check=True)  # noqa: ASYNC221
            took[EACH] = time.perf_counter() - began
            if number:
                for name, seconds in took.items():
                    times[name].append(seconds)
            elif len(read) < agents:
                raise SystemExit("bench: a pane is missing")
        return times
    finally:
        await client.try_many([[["kill-server"]]])
        await closed.wait()


if __name__ == "__main__":
    sys.exit(main())
