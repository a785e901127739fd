"""What crashes and meddling leave behind: the doctor names each thing, and with --fix removes what nobody needs."""

import json
import os
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.faults.support.disks import Disk
from tests.faults.support.ghosts import another, ask, doctor, down, fixes, found
from tests.faults.support.population import environment, kill_daemon, kill_keeper, population, tmux_servers
from tests.faults.support.teams import IDLE, pids, toml
from tests.faults.support.trees import tree
from tests.support import processes
from tests.support.instance import Instance
from tests.support.repos import git
from tests.support.waiting import wait_for


def _up(instance: Instance, **more: object) -> dict[str, int]:
    instance.spec(toml({"a": {"command": IDLE, "count": 2, **more}}))
    instance.run("up")
    return pids(instance)


def _launch_shell(agent: int) -> processes.Process:
    """The first process of an agent's terminal."""
    program = processes.process(agent)
    assert program is not None
    shell = processes.process(program.parent)
    assert shell is not None
    return shell


class TestTheDoctorOnlyLooks:
    def test_at_an_instance_that_was_never_used(self, instance: Instance) -> None:
        assert doctor(instance)["healthy"]
        assert os.listdir(instance.directory) == []

    def test_at_a_team_that_is_up_without_a_word_to_say(self, instance: Instance) -> None:
        _up(instance)
        document = doctor(instance)
        assert document["healthy"]
        told = [finding for finding in document["findings"] if finding["ours"] and finding["severity"] != "ok"]
        assert {finding["check"] for finding in told} <= {"containment"}
        down(instance)

    def test_at_a_store_that_a_killed_daemon_left_open(self, instance: Instance) -> None:
        _up(instance)
        kill_daemon(instance)
        kill_keeper(instance)
        assert os.path.getsize(os.path.join(instance.home, "corral.db-wal")) > 0
        before = tree(instance.home)
        document = doctor(instance)
        assert tree(instance.home) == before
        assert all(check["done"] for check in document["checked"] if check["check"] in ("orphans", "transitions"))
        assert found(document, "containment")[0]["agents"] == ["shop/a-1", "shop/a-2"]
        instance.run("daemon", "start")
        down(instance)

    def test_at_a_store_that_was_closed(self, instance: Instance) -> None:
        _up(instance)
        instance.run("daemon", "stop")
        keeper = Path(instance.home, "keeper.log")
        wait_for(
            lambda: "a daemon disconnected" in keeper.read_text(), what="the keeper has noticed that the daemon left"
        )
        before = tree(instance.home)
        left = [one["check"] for one in doctor(instance)["findings"] if one["ours"] and one["severity"] == "warning"]
        assert left == ["daemon"], "nobody looks after the agents, also if that is what somebody wanted"
        assert tree(instance.home) == before


class TestOrphans:
    @pytest.mark.parametrize("daemon", [True, False], ids=["daemon", "no daemon"])
    def test_a_process_of_a_run_that_is_over_is_ended(self, instance: Instance, daemon: bool) -> None:
        before = _up(instance)
        variables = {**environment(before["a-1"]), "CORRAL_RUN": "0123456789ab"}
        with subprocess.Popen(["sleep", "86400"], env=variables, start_new_session=True) as orphan:
            if not daemon:
                instance.run("daemon", "stop")
            document = doctor(instance)
            (finding,) = found(document, "orphans")
            assert not document["healthy"]
            assert (finding["subject"], finding["fixable"]) == ("shop/a-1", True)
            assert finding["processes"] == [{"pid": orphan.pid, "command": "sleep 86400"}]
            assert orphan.poll() is None
            (finding,) = found(doctor(instance, "--fix"), "orphans")
            assert finding["fixed"] is True
            assert orphan.wait(10) != 0
        assert {agent: [pid] for agent, pid in before.items()} == population(instance)

    def test_of_an_agent_that_is_not_known_any_more_too(self, instance: Instance) -> None:
        before = _up(instance)
        variables = {**environment(before["a-1"]), "CORRAL_AGENT": "gone", "CORRAL_RUN": "0123456789ab"}
        with subprocess.Popen(["sleep", "86400"], env=variables, start_new_session=True) as orphan:
            assert found(doctor(instance, "--fix"), "orphans", subject="shop/gone", fixed=True)
            orphan.wait(10)

    def test_the_doctor_ends_neither_itself_nor_whoever_started_it(self, instance: Instance) -> None:
        before = _up(instance)
        stray = {**environment(before["a-1"]), "CORRAL_RUN": "0123456789ab"}
        script = ["sh", "-c", '"$@"; echo "and on"', "sh", *instance.argv("doctor", "--fix")]
        done = subprocess.run(script, env={**instance.environment(), **stray}, capture_output=True, text=True)
        assert "run it from another terminal" in done.stdout
        assert done.stdout.endswith("and on\n")

    def test_one_with_the_marker_of_a_copied_store_is_not_ours_to_end(self, instance: Instance) -> None:
        """A copy of CORRAL_HOME has the same name for the instance, and knows nothing of what runs."""
        before = _up(instance)
        variables = {**environment(before["a-1"]), "CORRAL_RUN": "0123456789ab", "CORRAL_HOME": instance.home + "-2"}
        with subprocess.Popen(["sleep", "86400"], env=variables, start_new_session=True) as other:
            assert found(doctor(instance, "--fix"), "orphans") == []
            assert other.poll() is None
            other.kill()

    def test_what_was_started_by_a_store_that_is_lost_is_named(self, instance: Instance) -> None:
        before = _up(instance)
        variables = {**environment(before["a-1"]), "CORRAL_INSTANCE": "ba9876543210"}
        with subprocess.Popen(["sleep", "86400"], env=variables, start_new_session=True) as other:
            document = doctor(instance, "--fix")
            (finding,) = found(document, "orphans")
            assert (finding["fixable"], finding["processes"][0]["pid"]) == (False, other.pid)
            assert not document["healthy"]
            assert other.poll() is None
            other.kill()


class TestSessions:
    def test_an_agent_without_its_terminal_is_named(self, instance: Instance) -> None:
        before = _up(instance)
        instance.run("daemon", "stop")
        kill_keeper(instance)
        shell = _launch_shell(before["a-1"])
        processes.kill(shell)
        (finding,) = wait_for(lambda: found(doctor(instance), "lost_sessions"), 10, "a-1 is missed")
        assert (finding["subject"], finding["severity"]) == ("shop/a-1", "warning")
        assert "corral daemon start" in finding["remedy"]

    def test_a_terminal_of_no_agent_is_named_and_ended(self, instance: Instance) -> None:
        before = _up(instance)
        launch = Path(instance.runtime, "launch", "shop", "nobody.0123456789ab")
        launch.write_text("sleep 86400\n")
        socket = os.path.join(instance.runtime, "tmux", "shop.sock")
        ask(socket, "new-session", "-d", "-s", "nobody", "/bin/sh", str(launch))
        shell = int(ask(socket, "display-message", "-p", "-t", "=nobody:", "#{pane_pid}"))
        (finding,) = found(doctor(instance), "stray_sessions")
        assert (finding["subject"], finding["pid"], finding["fixable"]) == ("shop/nobody", shell, True)
        assert found(doctor(instance, "--fix"), "stray_sessions", fixed=True)
        assert not processes.is_alive(shell)
        assert {agent: [pid] for agent, pid in before.items()} == population(instance)
        down(instance)

    def test_a_session_that_somebody_opened_on_our_server_is_named_and_left_alone(self, instance: Instance) -> None:
        _up(instance)
        assert found(doctor(instance), "stray_sessions") == []  # the hidden hub is none
        socket = os.path.join(instance.runtime, "tmux", "shop.sock")
        ask(socket, "new-session", "-d", "-s", "stray", "exec sleep 86401")

        def named() -> list[dict[str, Any]] | None:
            """tmux tells of a session before its program is one."""
            return [one for one in found(doctor(instance), "stray_sessions") if one["command"] == "sleep 86401"] or None

        (finding,) = wait_for(named, 10, "the stray session is named")
        assert (finding["severity"], finding["ours"]) == ("info", False)
        found(doctor(instance, "--fix"), "stray_sessions")
        assert processes.is_alive(finding["pid"])
        down(instance)
        assert not processes.is_alive(finding["pid"])

    def test_a_server_of_a_team_that_is_not_up_is_named(self, instance: Instance) -> None:
        _up(instance)
        (server,) = tmux_servers(instance)
        name = environment(server.pid)["CORRAL_INSTANCE"]
        path = os.path.join(instance.runtime, "tmux", "old.sock")
        with another(path, {"CORRAL_INSTANCE": name, "CORRAL_TEAM": "old"}) as old:
            (finding,) = found(doctor(instance), "stray_sessions")
            assert (finding["subject"], finding["pid"]) == ("old", old.pid)
            assert path in finding["remedy"]
        down(instance)


class TestTransitions:
    @pytest.mark.parametrize("state", ["pending", "starting", "stopping"])
    def test_an_agent_that_nobody_finishes_is_named(self, instance: Instance, state: str) -> None:
        _up(instance)
        instance.run("daemon", "stop")
        _put_state(instance, "shop/a-2", state)
        document = doctor(instance)
        (finding,) = found(document, "transitions")
        assert (finding["subject"], finding["state"]) == ("shop/a-2", state)
        assert finding["remedy"] == "corral daemon start"
        assert not document["healthy"]

    def test_a_store_of_a_newer_version_is_not_guessed_at(self, instance: Instance) -> None:
        _up(instance)
        instance.run("daemon", "stop")
        _write(instance, "PRAGMA user_version = 99")
        document = doctor(instance)
        unseen = {check["check"]: check["why"] for check in document["checked"] if not check["done"]}
        assert "newer Corral" in unseen["orphans"]
        assert "newer Corral" in unseen["transitions"]
        _write(instance, "PRAGMA user_version = 1")


class TestSockets:
    def test_those_of_a_dead_daemon_and_a_dead_keeper_are_removed(self, instance: Instance) -> None:
        _up(instance)
        kill_daemon(instance)
        kill_keeper(instance)
        paths = {os.path.join(instance.runtime, name) for name in ("daemon.sock", "keeper.sock")}
        document = doctor(instance)
        assert {finding["path"] for finding in found(document, "sockets", severity="info")} == paths
        assert all(os.path.exists(path) for path in paths)
        assert {finding["path"] for finding in found(doctor(instance, "--fix"), "sockets", fixed=True)} == paths
        # They were removed; those that are there now are of the daemon that wrote it down, and of its keeper.
        said = {event["data"]["message"].rpartition("; ")[2] for event in fixes(instance)}
        assert said == {"it was removed", "it was started"}
        assert found(doctor(instance), "sockets") == []
        down(instance)

    def test_that_of_a_dead_tmux_server_is_tmuxs_own(self, instance: Instance) -> None:
        _up(instance)
        path = os.path.join(instance.runtime, "tmux", "old.sock")
        with another(path):
            pass
        document = doctor(instance, "--fix")
        (finding,) = found(document, "sockets", path=path)
        assert (finding["severity"], finding["fixable"]) == ("info", False)
        assert document["healthy"]
        assert os.path.exists(path)

    @pytest.mark.slow
    def test_a_daemon_whose_socket_was_removed_is_named(self, instance: Instance) -> None:
        _up(instance)
        os.unlink(os.path.join(instance.runtime, "daemon.sock"))
        document = doctor(instance)
        (finding,) = found(document, "sockets", subject="daemon")
        assert (finding["severity"], finding["fixable"]) == ("warning", False)
        unseen = {check["check"] for check in document["checked"] if not check["done"]}
        assert {"orphans", "stray_sessions", "transitions"} <= unseen  # nothing is judged by half of the facts
        wait_for(lambda: not found(doctor(instance), "sockets", subject="daemon"), 30, "the daemon went")
        instance.run("daemon", "start")
        down(instance)


def test_agents_without_a_daemon_are_told_of_and_fix_starts_one(instance: Instance) -> None:
    _up(instance)
    kill_daemon(instance)
    document = doctor(instance)
    (finding,) = found(document, "daemon")
    assert (document["healthy"], finding["agents"]) == (False, ["shop/a-1", "shop/a-2"])
    assert finding["remedy"].startswith("corral daemon start")
    (socket,) = found(document, "sockets", path=os.path.join(instance.runtime, "daemon.sock"))
    assert "nothing to do" not in socket["remedy"]
    assert found(doctor(instance, "--fix"), "daemon", fixed=True)
    assert not found(doctor(instance), "daemon")
    down(instance)


class TestWorktrees:
    def test_one_without_work_is_removed_and_one_with_work_never(
        self, instance: Instance, repo: Callable[..., Path]
    ) -> None:
        where = repo()
        instance.spec(toml({"a": {"command": IDLE, "count": 2}}, repo=where))
        instance.run("up")
        trees = {name: Path(instance.home, "worktrees", "shop", name) for name in ("a-1", "a-2")}
        for path in trees.values():
            (path / "new.txt").write_text("work")
        instance.run("down")
        (trees["a-1"] / "new.txt").unlink()
        named = found(doctor(instance, "--fix"), "worktrees")
        assert [finding["fixable"] for finding in named] == [False, False]  # a daemon might use them again
        assert "corral down -t shop" in named[0]["remedy"]
        instance.run("daemon", "stop")
        assert len(found(doctor(instance), "worktrees", fixable=True, fixed=None)) == 2
        document = doctor(instance, "--fix")
        (gone,) = found(document, "worktrees", fixed=True)
        (kept,) = found(document, "worktrees", fixed=False)
        assert (gone["path"], kept["path"]) == (str(trees["a-1"]), str(trees["a-2"]))
        assert "1 untracked file" in kept["message"]
        assert not trees["a-1"].exists()
        assert (trees["a-2"] / "new.txt").read_text() == "work"
        assert str(trees["a-1"]) not in git(where, "worktree", "list")
        assert document["healthy"]

    def test_with_a_daemon_the_remedy_is_a_command_that_does_it(
        self, instance: Instance, repo: Callable[..., Path]
    ) -> None:
        instance.spec(toml({"a": {"command": IDLE, "count": 2}}, repo=repo()))
        instance.run("up")
        trees = [Path(instance.home, "worktrees", "shop", name) for name in ("a-1", "a-2")]
        for path in trees:
            (path / "new.txt").write_text("work")
        instance.run("down")
        (trees[0] / "new.txt").unlink()
        remedies = {finding["remedy"] for finding in found(doctor(instance), "worktrees")}
        (command,) = {remedy.partition(" removes it")[0] for remedy in remedies}
        assert command == "corral down -t shop"
        instance.run(*command.split()[1:])
        assert [path.exists() for path in trees] == [False, True]
        assert [finding["path"] for finding in found(doctor(instance), "worktrees")] == [str(trees[1])]

    def test_those_of_agents_that_are_up_are_in_use(self, instance: Instance, repo: Callable[..., Path]) -> None:
        instance.spec(toml({"a": {"command": IDLE}}, repo=repo()))
        instance.run("up")
        assert found(doctor(instance), "worktrees") == []
        instance.run("daemon", "stop")
        assert found(doctor(instance), "worktrees") == []


class TestTheGround:
    def test_a_directory_of_ours_that_is_open_to_others_is_closed(self, instance: Instance) -> None:
        _up(instance)
        tmux = os.path.join(instance.runtime, "tmux")
        os.chmod(tmux, 0o777)
        document = doctor(instance)
        (finding,) = found(document, "directories")
        assert (finding["path"], finding["severity"], finding["mode"]) == (tmux, "problem", "0777")
        assert not document["healthy"]
        assert found(doctor(instance, "--fix"), "directories", fixed=True)
        assert os.stat(tmux).st_mode & 0o7777 == 0o700

    def test_a_directory_above_that_others_can_write_is_named(self, own_directory: Path) -> None:
        above = own_directory / "shared"
        above.mkdir()
        above.chmod(0o777)
        instance = Instance(str(above))
        document = doctor(instance, "--fix")
        (finding,) = found(document, "directories")
        assert (finding["path"], finding["fixable"]) == (str(above), False)
        assert not document["healthy"]
        above.chmod(0o1777)
        assert found(doctor(instance), "directories") == []

    def test_a_disk_that_is_nearly_full_is_named(self, home_disk: Disk, instance: Instance) -> None:
        document = doctor(instance)
        (finding,) = found(document, "disk")
        assert (finding["path"], finding["severity"]) == (instance.home, "problem")
        assert "nearly full" in finding["message"]
        assert not document["healthy"]

    def test_tmux_that_is_missing_or_too_old_is_named(self, instance: Instance, own_directory: Path) -> None:
        old = own_directory / "old-tmux"
        old.write_text("#!/bin/sh\necho tmux 3.2\n")
        old.chmod(0o755)
        for path, words in ((old, "needs 3.2a"), (own_directory / "missing", "cannot be run")):
            instance.env["CORRAL_TMUX"] = str(path)
            (finding,) = found(doctor(instance), "tmux")
            assert (finding["severity"], finding["path"]) == ("problem", str(path))
            assert words in finding["message"]
        del instance.env["CORRAL_TMUX"]


def _put_state(instance: Instance, agent: str, state: str) -> None:
    (value,) = _write(instance, "SELECT value FROM records WHERE kind = 'agent' AND key = ?", agent)[0]
    changed = json.dumps({**json.loads(value), "state": state}).encode()
    _write(instance, "UPDATE records SET value = ? WHERE kind = 'agent' AND key = ?", changed, agent)


def _write(instance: Instance, statement: str, *values: object) -> list[Any]:
    db = sqlite3.connect(os.path.join(instance.home, "corral.db"), isolation_level=None)
    try:
        return db.execute(statement, values).fetchall()
    finally:
        db.close()
