"""What is told of an agent to whatever keeps it to what it may touch."""

from dataclasses import replace

from corral.domain.access import Access
from corral.supervise.confines import confines_of
from tests.support.records import AGENT, TEAM


def test_what_an_agent_commits_to_is_the_repository_or_the_copy_that_its_worktree_is_of() -> None:
    team = replace(TEAM, user="ann", repo="/home/ann/shop", repository="/home/ann/shop/.git")
    agent = replace(AGENT, workspace_kind="worktree", workspace="/srv/ann/shop/a", access=Access(write=("src/**",)))
    assert confines_of(team, agent).repository == "/home/ann/shop/.git"
    guest = replace(agent, workspace="/srv/bot/shop/a", run_as="bot")
    assert confines_of(team, guest).repository == "/srv/bot/shop/.corral-copy.git"
    assert confines_of(team, replace(guest, workspace_kind="dir")).repository == ""
