"""Whose working trees `who` looks at, by whose keeper, and what of the answers counts."""

import asyncio
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from corral.domain.errors import UnavailableError
from corral.domain.records import Agent
from corral.ports.history import FileHistory, OpenChange, OpenChanges
from corral.service import who_trees
from corral.service.who_trees import by_user, with_others
from corral.supervise.keepers import Keepers
from tests.support.records import AGENT

OWN = OpenChange(workspace="/srv/ann/a", how="changed", time=1.0)


def agent(name: str, run_as: str = "", kind: str = "worktree", team: str = "shop") -> Agent:
    return replace(AGENT, team=team, name=name, run_as=run_as, workspace_kind=kind)


class Played:
    """A keeper, and all the links to it; silent without an answer."""

    def __init__(self, answer: OpenChanges | Exception | None) -> None:
        self.answer = answer
        self.asked: list[list[str]] = []

    def owner(self, _: str) -> str:
        return "ann"

    def of_user(self, user: str) -> "Played":
        assert user == "bot"
        return self

    async def open(self) -> "Played":
        return self

    async def open_changes(self, *, path: bytes, workspaces: list[str]) -> OpenChanges:
        assert path == b"f"
        self.asked.append(workspaces)
        if self.answer is None:
            await asyncio.Event().wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        assert self.answer is not None
        return self.answer


def look(answer: OpenChanges | Exception | None) -> FileHistory:
    keepers = cast("Keepers", Played(answer))
    history = FileHistory(known=False, open_changes=[OWN], unseen=["own"])
    return asyncio.run(with_others(keepers, history, b"f", {"bot": ["/srv/bot/b", "/srv/bot/c"]}))


def test_each_tree_is_looked_at_by_the_keeper_of_its_user() -> None:
    keepers = cast("Keepers", SimpleNamespace(owner=lambda _: "ann"))
    trees = {
        "/srv/ann/a": [agent("a")],
        "/srv/bot/b": [agent("b", "bot")],
        "/home/ann/shop": [agent("c", "bot", "shared"), agent("d", kind="shared")],
    }
    assert by_user(keepers, trees, "ann") == {"ann": ["/srv/ann/a", "/home/ann/shop"], "bot": ["/srv/bot/b"]}
    assert by_user(keepers, {}, "ann") == {"ann": []}


def test_what_another_keeper_says_counts_as_far_as_it_can_be() -> None:
    said = [
        OpenChange(workspace="/srv/bot/b", how="new", time=math.nan),
        OpenChange(workspace="/srv/ann/a", how="deleted", time=2.0),
        OpenChange(workspace="/srv/bot/c", how="eaten", time=2.0),
    ]
    seen = look(OpenChanges(known=True, changes=said, unseen=["git \x1b[31m failed"]))
    assert seen.known
    assert seen.open_changes == [OWN, OpenChange(workspace="/srv/bot/b", how="new", time=None)]
    assert seen.unseen[0] == "own"
    assert seen.unseen[1] == r'the keeper of bot says: "git \033[31m failed"'


@pytest.mark.parametrize("answer", [None, UnavailableError("its keeper is gone", "")])
def test_one_that_does_not_answer_takes_nothing_from_the_others(
    answer: Exception | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(who_trees, "LIST_SECONDS", 0.05)
    seen = look(answer)
    assert (seen.known, seen.open_changes) == (False, [OWN])
    assert seen.unseen[1].startswith("the working trees of bot: ")
