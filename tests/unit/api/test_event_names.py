"""The journal over HTTP, by the names of events."""

from pathlib import Path

import pytest

from corral.domain.records import NewEvent
from tests.support.records import PERSON
from tests.unit.api.scene import Scene, play


def test_only_events_of_these_names_are_told(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        names = ("probe.one", "other.one", "probe.two", "last.one")
        await scene.registry.observe((), [NewEvent(event=name, team="shop") for name in names], PERSON)

        async def told(query: str) -> list[str]:
            return [line["event"] async for line in scene.stream(f"/v1/events?{query}")]

        assert await told("event=probe.*") == ["probe.one", "probe.two"]
        assert await told("event=probe.*&lines=1") == ["probe.two"]
        assert await told("event=other.one&event=last.*&team=shop") == ["other.one", "last.one"]

    play(tmp_path, act)


@pytest.mark.parametrize("query", ["event=", "event=a[b", "event=a%20b", "event=*a*b*c*d", "event=x&" * 21])
def test_what_is_no_pattern_is_refused(tmp_path: Path, query: str) -> None:
    async def act(scene: Scene) -> None:
        assert (await scene.ask("GET", f"/v1/events?{query}")).json["error"]["code"] == "wrong_use"

    play(tmp_path, act)
