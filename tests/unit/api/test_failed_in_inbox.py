"""What the inbox advises for an agent that failed: where its end can be read."""

from dataclasses import replace
from pathlib import Path

import pytest

from corral.domain import states
from corral.domain.terminals import NO_TERMINAL, TMUX
from tests.support.records import AGENT
from tests.unit.api.scene import Scene, play
from tests.unit.service.fake_keeper import soon


@pytest.mark.parametrize(
    ("command", "terminal", "advice"),
    [
        (("claude",), TMUX, "corral logs --screen shop/a shows its last screen"),
        (("claude",), NO_TERMINAL, "corral logs shop/a tells more"),
        (("some-program",), TMUX, "corral logs shop/a tells more"),
    ],
)
def test_a_program_that_paints_is_looked_at_and_others_are_read(
    tmp_path: Path, command: tuple[str, ...], terminal: str, advice: str
) -> None:
    async def act(scene: Scene) -> None:
        failed = replace(AGENT, command=command, terminal=terminal, state=states.FAILED, run="r1", reason="exit 1")
        await scene.registry.observe([failed], [])
        await soon(lambda: scene.services.inbox.list())
        (entry,) = (await scene.ask("GET", "/v1/inbox")).json["entries"]
        assert entry["remedy"] == f"{advice}; corral restart shop/a starts it again"

    play(tmp_path, act)
