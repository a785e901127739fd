"""What a keeper says of a directory counts for the teams that it is the keeper of."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from corral.domain.errors import RefusedError
from corral.domain.path_patterns import parse
from corral.ports.links import RealPath, SymbolicLink, SymbolicLinks
from corral.service.real_patterns import RealPatterns
from corral.supervise.supervisor import Supervisor


class _Keeper:
    """One that says of everything that it leads out of the directory, if it lies."""

    def __init__(self, *, lies: bool) -> None:
        self.asked = 0
        self._lies = lies

    async def real_paths(self, _directory: str, paths: list[str]) -> list[RealPath]:
        self.asked += 1
        return [RealPath(path=None if self._lies else path) for path in paths]

    async def symbolic_links(self, _directory: str) -> SymbolicLinks:
        self.asked += 1
        links = [SymbolicLink(link="src/a", leads_to=RealPath(path="b"))] if self._lies else []
        return SymbolicLinks(links=links)


class _Supervisor:
    """Of which no more is asked than to reach the keeper of a team."""

    def __init__(self) -> None:
        self.keepers = {"shop": _Keeper(lies=False), "evil": _Keeper(lies=True)}

    async def insist_at(self, team: str, act: Callable[[Any], Awaitable[Any]], _directory: str = "") -> Any:
        return await act(self.keepers[team])


def test_a_team_that_names_the_directory_of_another_says_nothing_of_it() -> None:
    async def act() -> None:
        supervisor = _Supervisor()
        patterns = RealPatterns(cast("Supervisor", supervisor))
        plain, wide = parse("src/main.py"), parse("src/*")
        with pytest.raises(RefusedError, match="leads out of"):
            await patterns.of("evil", "/home/ann/shop", [plain])
        assert await patterns.of("evil", "/home/ann/shop", [parse("*/a")]) == (parse("*/a"), parse("b"))
        for _ in range(2):
            assert await patterns.of("shop", "/home/ann/shop", [plain]) == (plain,)
            assert await patterns.of("shop", "/home/ann/shop", [wide]) == (wide,)
        assert supervisor.keepers["shop"].asked == 3, "and what was looked up a moment ago is not asked for again"

    asyncio.run(act())
