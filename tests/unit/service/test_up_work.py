"""The doing of an `up` on a disk that fails in the middle: what it had taken by then is nobody's again."""

from pathlib import Path

import pytest

from corral.adapters.sqlite.store import StoreError
from corral.domain import plan
from corral.domain.plan import Step
from corral.domain.spec import parse
from corral.service.up_work import UpWork
from tests.support.records import PERSON
from tests.unit.service.test_port_blocks import Daemon, play

SPEC = """
[team]
name = "shop"
[agents.a]
command = ["cat"]
terminal = "none"
[agents.new]
command = ["cat"]
terminal = "none"
count = 2
"""


def test_ports_of_agents_that_could_not_be_written_down_are_free_again(tmp_path: Path) -> None:
    async def act(one: Daemon) -> None:
        await one.give("a", "b")
        names = ["new-1", "new-2"]
        team = parse(SPEC, str(tmp_path / "corral.toml"))
        prints: dict[str, dict[str, str]] = {name: {} for name in names}
        work = UpWork(one.context, one.ports, PERSON, team, prints, {}, lambda _: None, len(names))
        one.disk.full_for = lambda change: bool(change.put_agents)
        with pytest.raises(StoreError):
            await work.do([Step(name, plan.START) for name in names])
        assert not one.registry.of_team("shop").keys() & names
        of_new = [(event, agent) for event, agent, _ in await one.events() if agent in names]
        assert sorted(of_new) == [(event, name) for event in ("port.allocated", "port.freed") for name in names]
        # The pool has ten: eight are left for others, and the two that were given before are whose they were.
        others = [f"other-{number}" for number in range(9)]
        assert list(await one.give(*others)) == others[:8]

    play(tmp_path, act)
