"""Registering hooks in a workspace: what is written, what git sees of it, and that it comes out again."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from corral.adapters.files.registration import holding_work, register, register_hooks, unregister_hooks
from corral.agents import catalogue
from corral.agents.catalogue import profiles
from corral.agents.profile import Profile
from corral.domain.errors import CorralError, NotFoundError
from corral.domain.hook_calls import event_word
from corral.domain.hook_dialects import dialect
from tests.support.repos import git


@pytest.fixture
def repository(repo: Callable[..., Path]) -> Path:
    return repo()


HOOK_FILES = [
    ("claude", ".claude/settings.local.json"),
    ("codex", ".codex/hooks.json"),
    ("gemini", ".gemini/settings.json"),
    ("opencode", "opencode.json"),
    ("pi", ".pi/settings.json"),
]


@pytest.mark.parametrize(("profile", "file"), HOOK_FILES)
def test_hooks_come_into_the_file_of_each_agent_and_out_of_it(profile: str, file: str, repository: Path) -> None:
    assert "not registered" not in register_hooks(str(repository), profile)
    text = (repository / file).read_text()
    assert f"hook {profile} " in text or f"{profile}_hooks.js" in text
    assert git(repository, "status", "--porcelain") == ""
    assert register_hooks(str(repository), profile) == "", "there is nothing more to be told"
    assert (repository / file).read_text() == text
    assert holding_work(str(repository)) == []
    assert unregister_hooks(str(repository), profile) == ""
    assert not (repository / file).exists()
    assert "/" not in file or not (repository / file).parent.exists(), "the directory was made for it"
    assert file not in (repository / ".git/info/exclude").read_text()


def test_server_and_hooks_share_a_file_and_neither_counts_as_work(repository: Path) -> None:
    file = repository / ".gemini/settings.json"
    register(str(repository), "gemini")
    register_hooks(str(repository), "gemini")
    assert holding_work(str(repository)) == []
    assert unregister_hooks(str(repository), "gemini") == ""
    assert "mcpServers" in json.loads(file.read_text())
    assert holding_work(str(repository)) == []
    file.write_text(json.dumps({**json.loads(file.read_text()), "theme": "dark"}))
    assert holding_work(str(repository)) == [".gemini/settings.json"]


def test_a_tracked_file_is_left_alone_and_a_person_is_told_what_to_do(repository: Path) -> None:
    (repository / ".claude").mkdir()
    file = repository / ".claude/settings.local.json"
    file.write_text("{}\n")
    git(repository, "add", ".")
    with pytest.raises(CorralError, match=r"are not registered in .* is tracked by git") as refused:
        register_hooks(str(repository), "claude")
    assert "docs/howto/agent-hooks.md" in refused.value.remedy
    assert file.read_text() == "{}\n"


def test_what_cannot_be_done_is_an_error_and_leaves_nothing(repository: Path) -> None:
    for act in (register_hooks, unregister_hooks):
        with pytest.raises(NotFoundError, match="there is no directory"):
            act(str(repository / "nowhere"), "gemini")
    file = repository / ".gemini/settings.json"
    file.parent.mkdir()
    file.write_text("{nonsense")
    with pytest.raises(CorralError, match=r"are not registered in .* this is not JSON"):
        register_hooks(str(repository), "gemini")
    assert file.read_text() == "{nonsense"
    assert unregister_hooks(str(repository), "claude") == ""
    assert not (repository / ".claude").exists()


def test_an_agent_without_hooks_gets_none(repository: Path) -> None:
    assert register_hooks(str(repository), "aider") == ""
    assert unregister_hooks(str(repository), "aider") == ""
    assert git(repository, "status", "--porcelain", "--ignored") == ""


@pytest.mark.parametrize("profile", [profile for profile in profiles() if profile.hooks], ids=lambda known: known.name)
def test_what_an_agent_is_to_load_is_there_and_what_it_is_to_ask_is_understood(profile: Profile) -> None:
    assert profile.hooks is not None
    spoken = dialect(profile.name)
    assert spoken is not None
    if profile.hooks.plugin:
        assert os.path.exists(os.path.join(os.path.dirname(catalogue.__file__), os.path.basename(profile.hooks.plugin)))
    for event, matcher in profile.hooks.events.items():
        assert event_word(event) in spoken.events
        assert set(filter(None, matcher.split("|"))) <= set(spoken.tools)
