"""`corral hook` as coding agents run it: two agents in one checkout, a real daemon, and one that is not there."""

import json
import os
import signal
from pathlib import Path

import pytest

from tests.faults.support.population import kill_daemon
from tests.faults.support.teams import IDLE, toml
from tests.support import repos
from tests.support.instance import Instance
from tests.support.sharing import Sharing


@pytest.fixture
def team(instance: Instance, own_directory: Path) -> Sharing:
    return Sharing(instance, own_directory / "project")


def held_by_b(team: Sharing, *patterns: str) -> None:
    team.instance.run("lease", "acquire", "--agent", "b", *patterns)


def test_a_write_to_what_somebody_else_holds_is_refused_with_a_reason_to_act_on(team: Sharing) -> None:
    held_by_b(team, "docs/")
    reason = team.may_write("a", "docs/it's new.md")
    assert "shop/b holds docs/ (exclusive) since 2" in reason
    assert "corral lease wait --literal 'docs/it'\"'\"'s new.md' --wait 10m" in reason
    assert team.may_write("b", "docs/it's new.md") == ""
    assert team.may_write("a", "free.txt") == ""
    events = map(json.loads, team.instance.run("events", "--json").stdout.splitlines())
    (event,) = [event for event in events if event["event"] == "hook.refused"]
    assert (event["agent"], event["data"]["path"], event["data"]["holder"]) == ("a", "docs/it's new.md", "shop/b")


def test_what_is_held_together_may_be_read_and_not_written(team: Sharing) -> None:
    team.instance.run("lease", "acquire", "--agent", "b", "--shared", "notes.txt")
    assert "(shared)" in team.may_write("a", team.file)
    team.reads("a", team.file)


def test_every_way_to_a_file_is_the_same_file(team: Sharing) -> None:
    (team.project / "docs").mkdir()
    (team.project / "link").symlink_to("docs")
    (team.project / "file-link").symlink_to("docs/x")
    held_by_b(team, "docs/")
    for way in ("src/../docs/x", "./docs/x", team.project / "docs/x", "link/x", "file-link"):
        assert "shop/b holds docs/" in team.may_write("a", way)


def test_what_is_not_in_the_repository_is_nobodys_business(team: Sharing, own_directory: Path) -> None:
    held_by_b(team, "**")
    outside = own_directory / "outside"
    outside.write_text("x")
    (team.project / "out").symlink_to(outside)
    assert "shop/b holds" in team.may_write("a", "x")
    assert team.may_write("a", outside) == ""
    assert team.may_write("a", "../outside") == ""
    assert team.may_write("a", "out") == ""


def test_relative_paths_begin_where_the_agent_says_it_is(team: Sharing) -> None:
    held_by_b(team, "src/x.py")
    said = {"session_id": "s", "cwd": f"{team.project}/src", "tool_name": "Edit", "tool_input": {"file_path": "x.py"}}
    assert "shop/b holds src/x.py" in team.hook("a", "PreToolUse", said).stdout


def test_a_file_that_changed_since_it_was_read_has_to_be_read_again(team: Sharing) -> None:
    team.reads("a", team.file)
    assert team.may_write("a", team.file) == ""
    before = team.file.stat()
    team.file.write_text("two\n")
    os.utime(team.file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "notes.txt was not written: it has changed since you read or wrote it last" in team.may_write("a", team.file)
    assert "it has changed" in team.may_write("a", team.file), "for as long as it has not been read"
    team.reads("a", team.file)
    assert team.may_write("a", team.file) == ""


def test_touching_a_file_is_no_change(team: Sharing) -> None:
    team.reads("a", team.file)
    os.utime(team.file)
    assert team.may_write("a", team.file) == ""


def test_what_the_other_one_wrote_has_to_be_read_and_its_own_writing_not(team: Sharing) -> None:
    team.reads("a", team.file)
    team.reads("b", team.file)
    team.writes("b", team.file, "two\n")
    assert team.may_write("b", team.file) == ""
    assert "shop/b wrote it at 2" in team.may_write("a", team.file)
    fresh = team.project / "fresh.txt"
    team.writes("a", fresh, "new\n")
    assert "shop/a wrote it at" in team.may_write("b", fresh)


def test_while_one_writes_a_file_no_other_may_begin(team: Sharing) -> None:
    assert team.claude("a", "PreToolUse", "Edit", team.file) == ""
    assert "shop/a is writing it at this moment" in team.may_write("b", team.file)
    team.hook("a", "Stop", {"session_id": "session of a"})
    assert "is writing" not in team.may_write("b", team.file)


def test_a_turn_that_ends_makes_nobodys_change_the_agents_own(team: Sharing) -> None:
    """The person said no to the edit, and made another one before the agent's turn was over."""
    team.reads("a", team.file)
    assert team.claude("a", "PreToolUse", "Edit", team.file) == ""
    team.file.write_text("of the person\n")
    team.hook("a", "Stop", {"session_id": "session of a"})
    assert "it has changed since you read" in team.may_write("a", team.file)
    team.reads("a", team.file)
    assert team.may_write("a", team.file) == ""


def test_a_removed_file_is_asked_about_once(team: Sharing) -> None:
    team.reads("a", team.file)
    team.file.unlink()
    assert "it was removed or renamed" in team.may_write("a", team.file)
    assert team.may_write("a", team.file) == ""


def test_another_conversation_of_the_same_agent_has_read_nothing(team: Sharing) -> None:
    team.reads("a", team.file, session="one")
    team.file.write_text("two\n")
    assert "it has changed" in team.may_write("a", team.file, session="one")
    assert team.may_write("a", team.file, session="another") == ""


def test_an_agent_whose_readings_are_not_told_is_refused_once_for_each_change(team: Sharing) -> None:
    patch = "*** Begin Patch\n*** Update File: notes.txt\n@@\n-one\n+two\n*** End Patch"
    said = {"session_id": "s", "cwd": str(team.project), "tool_name": "apply_patch", "tool_input": {"command": patch}}
    assert team.hook("a", "PreToolUse", said, program="codex").stdout == ""
    team.file.write_text("two\n")
    team.hook("a", "PostToolUse", said, program="codex")
    team.file.write_text("three\n")
    assert "it has changed" in team.hook("a", "PreToolUse", said, program="codex").stdout
    assert team.hook("a", "PreToolUse", said, program="codex").stdout == ""


def test_what_was_read_is_known_after_the_daemon_was_killed(team: Sharing) -> None:
    team.reads("a", team.file)
    kill_daemon(team.instance)
    team.instance.run("daemon", "start")
    assert team.may_write("a", team.file) == ""
    team.file.write_text("two\n")
    assert "it has changed" in team.may_write("a", team.file)


def test_a_hook_renews_what_a_person_holds(team: Sharing) -> None:
    lease = team.instance.json("lease", "acquire", "--ttl", "1h", "docs/")
    said = json.dumps({"session_id": "s"})
    team.instance.run("hook", "claude", "Notification", cwd=team.project, input=said)
    (now,) = team.instance.json("lease", "ls")["leases"]
    assert now["expires_at"] > lease["expires_at"]


def test_a_person_without_an_agent_is_judged_as_well(team: Sharing) -> None:
    held_by_b(team, "docs/")
    said = {"session_id": "s", "cwd": str(team.project), "tool_name": "Write", "tool_input": {"file_path": "docs/x"}}
    done = team.instance.run("hook", "claude", "PreToolUse", cwd=team.project, input=json.dumps(said))
    assert "shop/b holds docs/" in done.stdout


@pytest.mark.parametrize("said", ["", "nonsense", "[]", "{}", '{"tool_name": "Write"}', b"\xff\xfe", "[" * 100_000])
def test_what_cannot_be_understood_is_refused_where_it_may_be_a_write_and_harms_nobody_else(
    team: Sharing, said: str | bytes
) -> None:
    before = team.hook("a", "PreToolUse", said)
    assert before.returncode == 0
    assert json.loads(before.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert "cannot be understood" in before.stderr
    after = team.hook("a", "PostToolUse", said)
    assert after.returncode == 0
    assert "cannot be understood" in json.loads(after.stdout)["systemMessage"]


@pytest.mark.parametrize("file_path", [5, "", None, ["a"]])
def test_a_write_that_does_not_say_which_file_is_refused(team: Sharing, file_path: object) -> None:
    said = {"session_id": "s", "tool_name": "Write", "tool_input": {"file_path": file_path}}
    assert '"permissionDecision": "deny"' in team.hook("a", "PreToolUse", said).stdout


def test_install_says_either_that_it_is_done_or_why_not(team: Sharing, own_directory: Path) -> None:
    done = team.instance.run("hook", "install", "gemini", str(own_directory / "nowhere"), check=False)
    assert (done.returncode, done.stdout, "there is no directory" in done.stderr) == (3, "", True)
    elsewhere = own_directory / "elsewhere"
    file = elsewhere / ".gemini/settings.json"
    file.parent.mkdir(parents=True)
    file.write_text("{nonsense")
    done = team.instance.run("hook", "install", "gemini", str(elsewhere), check=False)
    assert (done.returncode, done.stdout, "are not registered" in done.stderr) == (1, "", True)
    team.instance.run("hook", "install", "claude", str(elsewhere))
    assert (elsewhere / ".claude/settings.local.json").exists()
    team.instance.run("hook", "uninstall", "claude", str(elsewhere))
    assert [path.name for path in elsewhere.iterdir()] == [".gemini"]


def test_unknown_tools_and_events_pass(team: Sharing) -> None:
    held_by_b(team, "**")
    assert team.claude("a", "PreToolUse", "Bash", "x") == ""
    assert team.claude("a", "PreToolUse", "SomethingNew", "x") == ""
    done = team.hook("a", "SomethingNew", {"session_id": "s", "strange": [1]})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_paths_that_no_file_can_have_pass(team: Sharing) -> None:
    assert team.may_write("a", "x\0y") == ""
    assert team.may_write("a", "x" * 100_000) == ""
    assert team.may_write("a", "a/" * 100 + "x") == ""


WRITE = {"session_id": "s", "tool_name": "Write", "tool_input": {"file_path": "x"}}


class TestWithoutTheDaemon:
    """What was asked for cannot be judged."""

    def test_writes_are_refused_and_reads_pass_and_both_are_loud(self, team: Sharing) -> None:
        environment = team.identity("a")
        kill_daemon(team.instance)
        done = team.instance.run(
            "hook", "claude", "PreToolUse", cwd=team.project, input=json.dumps(WRITE), env=environment
        )
        reason = json.loads(done.stdout)["hookSpecificOutput"]["permissionDecisionReason"]
        assert "Corral's daemon is not running" in reason
        assert "corral daemon start" in done.stderr
        read = json.dumps({**WRITE, "tool_name": "Read"})
        passed = team.instance.run("hook", "claude", "PreToolUse", cwd=team.project, input=read, env=environment)
        assert "Corral checked nothing" in json.loads(passed.stdout)["systemMessage"]
        assert "Corral checked nothing" in passed.stderr

    def test_the_file_may_say_otherwise(self, instance: Instance, own_directory: Path) -> None:
        team = Sharing(instance, own_directory / "project", '[enforcement]\nunreachable = "allow"')
        environment = team.identity("a")
        kill_daemon(instance)
        said = json.dumps(WRITE)
        done = instance.run("hook", "claude", "PreToolUse", cwd=team.project, input=said, env=environment)
        assert "Corral checked nothing" in json.loads(done.stdout)["systemMessage"]

    def test_a_daemon_that_stands_still_is_none(self, team: Sharing) -> None:
        environment = team.identity("a")
        pid = team.instance.json("daemon", "status")["pid"]
        os.kill(pid, signal.SIGSTOP)
        try:
            said = json.dumps(WRITE)
            done = team.instance.run("hook", "claude", "PreToolUse", cwd=team.project, input=said, env=environment)
        finally:
            os.kill(pid, signal.SIGCONT)
        assert "did not answer" in json.loads(done.stdout)["hookSpecificOutput"]["permissionDecisionReason"]

    def test_where_no_team_is_up_nothing_is_refused(self, team: Sharing) -> None:
        team.instance.run("down")
        team.instance.run("daemon", "stop")
        done = team.instance.run("hook", "claude", "PreToolUse", cwd=team.project, input=json.dumps(WRITE))
        assert (done.stdout, done.stderr) == ("", "")


def test_up_registers_hooks_where_the_file_says_so_and_down_leaves_nothing_of_them(
    instance: Instance, own_directory: Path
) -> None:
    project = repos.make(own_directory / "project")
    program = own_directory / "claude"
    program.write_text("#!/bin/sh\nexec sleep 86400\n")
    program.chmod(0o755)
    agents = {"api": {"command": [str(program)]}, "other": {"command": IDLE}}
    instance.spec(toml(agents, repo=project).replace("[team]", "[team]\nhooks = true", 1))
    told = instance.run("up")
    assert "other: its program has no hooks that Corral knows" in told.stdout + told.stderr
    worktree = Path(instance.home, "worktrees", "shop", "api")
    registered = json.loads((worktree / ".claude/settings.local.json").read_text())["hooks"]["PreToolUse"]
    assert registered[0]["hooks"][0]["command"].endswith(" hook claude pre-tool-use")
    assert repos.git(worktree, "status", "--porcelain") == ""
    assert "is down" in instance.run("down").stdout
    assert not worktree.exists()
    assert ".claude" not in (project / ".git/info/exclude").read_text()
