"""Which repository can carry which workspaces."""

from dataclasses import dataclass

import pytest

from corral.domain.errors import BadSpecError, CorralError, RefusedError
from corral.domain.repository import check
from corral.domain.spec import parse


@dataclass(frozen=True)
class Seen:
    kind: str = "normal"
    dirty: bool = False
    problem: str = ""
    in_the_way: str = ""


def notes(seen: Seen, workspace: str) -> list[str]:
    text = f'[team]\nname = "shop"\nrepo = "/r"\n[agents.a]\ncommand = ["x"]\nworkspace = "{workspace}"\n'
    team = parse(text, "/t/corral.toml")
    return check(team, team.agents, seen)


@pytest.mark.parametrize(
    ("seen", "workspace", "kind", "word"),
    [
        (Seen("missing"), "shared", BadSpecError, "does not exist"),
        (Seen("none", problem="not a git repository"), "shared", BadSpecError, "not a git repository"),
        (Seen("none", problem="detected dubious ownership"), "shared", BadSpecError, "belongs to somebody else"),
        (Seen("empty"), "worktree", BadSpecError, "no commit yet"),
        (Seen("bare"), "shared", BadSpecError, "bare"),
        (Seen(in_the_way="corral"), "worktree", RefusedError, "the branch corral of /r is in the way"),
    ],
)
def test_what_cannot_be_is_refused_with_a_remedy(
    seen: Seen, workspace: str, kind: type[CorralError], word: str
) -> None:
    with pytest.raises(kind) as refused:
        notes(seen, workspace)
    assert word in refused.value.message
    assert refused.value.remedy


@pytest.mark.parametrize(
    ("seen", "workspace"),
    [
        (Seen(), "worktree"),
        (Seen("empty"), "shared"),
        (Seen("bare"), "worktree"),
        (Seen(in_the_way="corral"), "shared"),
        (Seen(dirty=True), "shared"),
    ],
)
def test_what_can_be_is_let_be(seen: Seen, workspace: str) -> None:
    assert notes(seen, workspace) == []


def test_changes_that_are_in_no_commit_are_remarked_on() -> None:
    (note,) = notes(Seen(dirty=True), "worktree")
    assert "uncommitted changes" in note
