"""`corral who`: what is wrong with a command line is told in its own words. The rest is in tests/integration."""

import pytest

from tests.unit.cli.conftest import Corral
from tests.unit.client.fake_daemon import FakeDaemon


@pytest.mark.parametrize("limit", ["0", "1001"])
def test_a_limit_that_cannot_be_is_told_before_anybody_is_asked(corral: Corral, daemon: FakeDaemon, limit: str) -> None:
    outcome = corral("who", "--limit", limit, "README.md", "--json")
    assert (outcome.code, outcome.error["message"]) == (2, f"--limit cannot be {limit}")
    assert "1 to 1000" in outcome.error["remedy"]
    assert daemon.requests == []
