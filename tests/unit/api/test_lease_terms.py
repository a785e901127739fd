"""How long leases and locks stay without a sign of life: as the team's file says, unless somebody says otherwise."""

from dataclasses import replace
from pathlib import Path

import pytest

from corral.domain.lease_terms import LeaseTerms
from corral.domain.timestamps import timestamp
from tests.support.records import PERSON, TEAM
from tests.unit.api.scene import Scene, play


@pytest.mark.parametrize(
    ("path", "body", "seconds"),
    [
        ("/v1/leases?team=shop&agent=a", {"patterns": ["x"]}, 5.0),
        ("/v1/leases?team=shop", {"patterns": ["x"]}, 70.0),
        ("/v1/locks?team=shop&agent=a", {"name": "x"}, 3.0),
        ("/v1/leases?team=shop&agent=a", {"patterns": ["x"], "ttl": 9}, 9.0),
        ("/v1/locks?team=shop", {"name": "x", "ttl": 9}, 9.0),
        ("/v1/leases?team=toys&agent=z", {"patterns": ["x"]}, 60.0),
    ],
)
def test_the_teams_own_terms_count(tmp_path: Path, path: str, body: dict[str, object], seconds: float) -> None:
    async def act(scene: Scene) -> None:
        terms = LeaseTerms(suspect=5.0, person=70.0, lock=3.0)
        await scene.registry.commit(PERSON, teams=[replace(TEAM, leases=terms)])
        answer = (await scene.ask("POST", path, body)).json
        # The daemon's clock stands still in this scene; the one of the event loop, which counts, does not.
        assert timestamp(seconds - 1) < answer["expires_at"] <= timestamp(seconds)

    play(tmp_path, act)
