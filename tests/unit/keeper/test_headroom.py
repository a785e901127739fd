"""How much of its own memory limit a team has left."""

import pytest

from corral.keeper.headroom import free_share
from corral.ports.usage import Usage


def usage(agent: str = "", current: int = 0, limit: int | None = None, reclaimable: int | None = None) -> Usage:
    return Usage(
        agent=agent,
        level="cgroup",
        cpu_seconds=0.0,
        memory_current=current,
        memory_limit=limit,
        memory_reclaimable=reclaimable,
        tasks=1,
    )


def test_the_limit_of_the_team_counts_and_not_that_of_an_agent() -> None:
    assert free_share([usage("a", 90, 100), usage(current=40, limit=200)]) == 80.0


def test_what_the_kernel_could_take_back_is_free() -> None:
    assert free_share([usage(current=90, limit=100, reclaimable=60)]) == pytest.approx(70.0)


def test_it_is_never_less_than_nothing() -> None:
    assert free_share([usage(current=300, limit=100)]) == 0.0


def test_without_a_limit_nobody_can_tell() -> None:
    assert free_share([usage(current=300)]) is None
    assert free_share([]) is None
