"""`corral up`: which file, what is sent, what is said, and when a daemon is started."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from corral.client import start
from corral.places import Places
from tests.support.instance import Instance
from tests.unit.cli.conftest import Corral
from tests.unit.cli.terminal import run_on_terminal
from tests.unit.client.dying_daemon import DyingDaemon
from tests.unit.client.fake_daemon import FakeDaemon, refusal, stream

SPEC = '[team]\nname = "shop"\n\n[agents.builder]\ncommand = ["true"]\ncount = 2\n\n[agents.lead]\ncommand = ["true"]\n'


def agent(name: str, action: str, *differs: str, detail: str = "") -> dict[str, object]:
    return {"agent": name, "action": action, "differs": list(differs), "state": "running", "detail": detail}


def step(name: str, what: str, detail: str = "", done: int = 1) -> dict[str, object]:
    return {"progress": {"agent": name, "step": what, "detail": detail, "done": done, "of": 3}}


def result(*agents: dict[str, object], dry_run: bool = False) -> dict[str, object]:
    changed = any(agent["action"] != "keep" for agent in agents)
    return {"result": {"team": "shop", "dry_run": dry_run, "changed": changed, "agents": agents}}


STARTED = result(agent("builder-1", "start"), agent("builder-2", "start"), agent("lead", "keep"))


@pytest.fixture
def spec(own_directory: Path) -> Path:
    path = own_directory / "corral.toml"
    path.write_text(SPEC)
    return path


class TestTheFile:
    def test_is_the_one_of_this_directory_or_above(
        self, corral: Corral, daemon: FakeDaemon, spec: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        daemon.answer("POST", "/v1/up", stream(STARTED))
        below = spec.parent / "a" / "b"
        below.mkdir(parents=True)
        os.chdir(below)
        assert corral("up").code == 0
        sent = daemon.last.json()
        assert (sent["file"], sent["text"]) == (str(spec), SPEC)

    def test_can_be_named(self, corral: Corral, daemon: FakeDaemon, spec: Path) -> None:
        daemon.answer("POST", "/v1/up", stream(STARTED))
        spec.rename(spec.parent / "other.toml")
        assert corral("up", "-f", "./other.toml").code == 0
        assert daemon.last.json()["file"] == str(spec.parent / "other.toml")

    def test_none(self, corral: Corral, places: Places) -> None:
        outcome = corral("up")
        assert outcome.code == 3
        assert "corral init" in outcome.err
        assert not os.path.exists(places.runtime)

    def test_that_does_not_exist(self, corral: Corral) -> None:
        assert corral("up", "-f", "none.toml", "--json").error["code"] == "not_found"

    def test_that_is_a_directory_is_wrong_use(self, corral: Corral, spec: Path, own_directory: Path) -> None:
        (own_directory / "empty").mkdir()
        for command in ("up", "down"):
            error = corral(command, "-f", ".", "--json").error
            assert (error["code"], error["remedy"]) == ("wrong_use", "-f ./corral.toml")
            outcome = corral(command, "-f", "empty", "--json")
            assert (outcome.code, "is a directory" in outcome.error["message"]) == (2, True)
            assert "empty/corral.toml" in outcome.error["remedy"]

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
    def test_that_may_not_be_read(self, corral: Corral, spec: Path) -> None:
        spec.chmod(0)
        outcome = corral("up", "-f", str(spec))
        assert (outcome.code, str(spec) in outcome.err) == (1, True)

    def test_whose_path_is_no_utf8(self, corral: Corral, spec: Path) -> None:
        os.mkdir(b"\xff")
        assert corral("up", "-f", os.fsdecode(b"\xff/corral.toml")).code == 2

    def test_that_is_no_utf8(self, corral: Corral, spec: Path) -> None:
        spec.write_bytes(b"\xff\xfe")
        assert corral("up", "--json").error["code"] == "bad_spec"


class TestTheRequest:
    def test_has_everything_that_the_daemon_cannot_know(
        self, corral: Corral, daemon: FakeDaemon, spec: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("EDITOR", "ed")
        daemon.answer("POST", "/v1/up", stream(STARTED))
        corral("up", "--restart-changed", "builder", "lead")
        sent = daemon.last.json()
        assert (sent["agents"], sent["restart_changed"], sent["dry_run"]) == (["builder", "lead"], True, False)
        environment = sent["environment"]
        assert isinstance(environment, dict)
        assert environment["EDITOR"] == "ed"

    def test_says_that_a_service_asks_and_no_person(
        self, corral: Corral, daemon: FakeDaemon, spec: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("corral.client.wire._SPOKEN_FOR", {})
        daemon.answer("POST", "/v1/up", stream(STARTED))
        corral("up", "--service")
        assert daemon.last.headers["x-corral-agent"] == "service"

    def test_leaves_out_variables_that_json_cannot_carry_and_says_so(
        self, corral: Corral, daemon: FakeDaemon, spec: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("LATIN", os.fsdecode(b"\xff"))
        daemon.answer("POST", "/v1/up", stream(STARTED))
        assert corral("up").err == "not passed on to agents, because it is not UTF-8: LATIN\n"
        environment = daemon.last.json()["environment"]
        assert isinstance(environment, dict)
        assert "LATIN" not in environment
        assert corral("up", "--json").err == ""

    def test_a_refusal_is_passed_on(self, corral: Corral, daemon: FakeDaemon, spec: Path) -> None:
        daemon.answer("POST", "/v1/up", refusal(409, "refused", "shop is up elsewhere", "choose another name"))
        assert corral("up").code == 4


class TestTheSummary:
    def test_of_a_start(self, corral: Corral, daemon: FakeDaemon, spec: Path) -> None:
        daemon.answer(
            "POST",
            "/v1/up",
            stream(step("builder-1", "workspace"), step("builder-1", "started"), step("lead", "kept"), STARTED),
        )
        outcome = corral("up")
        assert (outcome.code, outcome.out) == (0, "shop: 2 started, 1 as declared\n")
        assert outcome.err == "builder-1: started\n"

    def test_of_nothing_to_do(self, corral: Corral, daemon: FakeDaemon, spec: Path) -> None:
        daemon.answer("POST", "/v1/up", stream(result(*(agent(name, "keep") for name in "abc"))))
        assert corral("up").out == "shop: nothing to do, 3 agents are as declared\n"
        daemon.answer("POST", "/v1/up", stream(result(agent("a", "keep"))))
        assert corral("up").out == "shop: nothing to do, 1 agent is as declared\n"
        taken = {"team": "shop", "dry_run": False, "changed": True, "agents": [agent("a", "keep")], "notes": ["taken"]}
        daemon.answer("POST", "/v1/up", stream({"result": taken}))
        assert corral("up").out == "shop: 1 as declared\n  ! taken\n"

    def test_of_differences(self, corral: Corral, daemon: FakeDaemon, spec: Path) -> None:
        answer = result(agent("a", "changed", "command", "env.NODE_ENV"), agent("b", "keep"), agent("old", "extra"))
        daemon.answer("POST", "/v1/up", stream(answer))
        outcome = corral("up")
        assert outcome.code == 0
        assert outcome.out.splitlines() == [
            "shop: 1 as declared, 1 left as it is, but differs, 1 not declared any more",
            "  ~ a runs otherwise than declared: command, env.NODE_ENV differ",
            "  - old is up but not declared any more: corral rm --force shop/old removes it",
            "  corral up --restart-changed restarts what differs",
        ]

    def test_of_a_failure(self, corral: Corral, daemon: FakeDaemon, spec: Path) -> None:
        answer = result(agent("a", "start"), agent("b", "failed", detail="no such command: \x1b[31mclaude"))
        daemon.answer("POST", "/v1/up", stream(answer))
        outcome = corral("up")
        assert outcome.code == 1
        assert outcome.out == "shop: 1 started, 1 failed\n  ✗ b: no such command: �[31mclaude\n"
        assert outcome.err == "corral: shop: b did not start\n  → corral logs b shows its last words\n"
        outcome = corral("up", "--json")
        assert (outcome.code, outcome.error["code"], outcome.json["agents"][1]["action"]) == (1, "failed", "failed")

    def test_of_a_failure_before_the_start_has_its_own_remedy(
        self, corral: Corral, daemon: FakeDaemon, spec: Path
    ) -> None:
        failed = {**agent("a", "failed", detail="/w/a is in the way"), "remedy": "move it away"}
        daemon.answer("POST", "/v1/up", stream(result(failed)))
        assert corral("up").err == "corral: shop: a did not start\n  → move it away\n"

    def test_json_is_the_result_and_nothing_else(self, corral: Corral, daemon: FakeDaemon, spec: Path) -> None:
        daemon.answer("POST", "/v1/up", stream(step("lead", "started"), STARTED))
        outcome = corral("up", "--json")
        assert outcome.json == json.loads(json.dumps(STARTED["result"]))
        assert outcome.err == ""

    def test_of_a_daemon_that_died(self, corral: Corral, daemon: FakeDaemon, spec: Path) -> None:
        daemon.answer("POST", "/v1/up", stream(step("lead", "starting")))
        assert corral("up").code == 6


class TestTheTerminal:
    def test_shows_progress_in_one_line_and_leaves_it_empty(
        self, real: Instance, daemon: FakeDaemon, spec: Path
    ) -> None:
        steps = [step("builder-1", "workspace", done=0), step("lead", "failed", "no\x1b[2J", 2), STARTED]
        daemon.answer("POST", "/v1/up", stream(*steps))
        code, text = run_on_terminal(real.argv("up"), cwd=real.directory, env={"NO_COLOR": "1"})
        assert code == 0
        assert "0/3 builder-1: workspace" in text
        assert "2/3 lead: failed" in text
        assert "\x1b[2J" not in text
        last_line = text.rpartition("\r\x1b[K")[2]
        assert last_line == "shop: 2 started, 1 as declared\r\n"


class TestDryRun:
    def test_prints_the_plan(self, corral: Corral, daemon: FakeDaemon, spec: Path) -> None:
        answer = result(
            agent("builder-1", "start"),
            agent("lead", "changed", "prompt"),
            agent("x", "restart", "env.A"),
            agent("y", "keep"),
            dry_run=True,
        )
        daemon.answer("POST", "/v1/up", stream(answer))
        outcome = corral("up", "--dry-run")
        assert outcome.out.splitlines() == [
            "shop: the plan; nothing was changed",
            "  + builder-1  would be started",
            "  ~ lead       runs otherwise than declared: prompt differs",
            "  ↻ x          would be restarted: env.A differs",
            "  = y          is as declared",
            "  corral up --restart-changed would restart what differs",
        ]
        assert daemon.last.json()["dry_run"] is True

    def test_needs_no_daemon_where_nothing_is_up(self, corral: Corral, places: Places, spec: Path) -> None:
        outcome = corral("up", "--dry-run", "--json")
        assert outcome.code == 0
        assert [(each["agent"], each["action"]) for each in outcome.json["agents"]] == [
            ("builder-1", "start"),
            ("builder-2", "start"),
            ("lead", "start"),
        ]
        assert corral("up", "--dry-run", "builder").out.count("would be started") == 2
        assert not os.path.exists(places.home)
        assert not os.path.exists(places.runtime)

    @pytest.mark.usefixtures("somebody_was_here")
    def test_cannot_tell_where_agents_may_be_up(self, corral: Corral, spec: Path) -> None:
        assert corral("up", "--dry-run").code == 6


class TestWithoutADaemon:
    def test_a_bad_file_starts_nothing(self, corral: Corral, places: Places, spec: Path) -> None:
        spec.write_text("[team]\nnam = 3\n")
        outcome = corral("up")
        assert outcome.code == 2
        assert "corral.toml:" in outcome.err
        assert not os.path.exists(places.home)
        assert not os.path.exists(places.runtime)

    def test_an_agent_that_is_not_declared_starts_nothing(self, corral: Corral, places: Places, spec: Path) -> None:
        outcome = corral("up", "bilder-1")
        assert outcome.code == 3
        assert "did you mean builder-1" in outcome.err
        assert not os.path.exists(places.runtime)

    @pytest.mark.usefixtures("spec")
    def test_what_a_daemon_took_and_did_not_answer_is_not_asked_of_another(
        self, corral: Corral, places: Places, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        started: list[Places] = []
        monkeypatch.setattr(start, "ensure_daemon", started.append)
        with DyingDaemon(places.daemon_socket):
            outcome = corral("up")
        assert (outcome.code, started) == (6, [])
        assert "may have done what was asked" in outcome.err
        assert "corral daemon start" in outcome.err

    @pytest.fixture
    def daemon_to_be(self, own_directory: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        """What the interpreter would run as the daemon: a process that listens, and gives one answer."""
        repository = Path(__file__).parents[3]
        script = own_directory / "python"
        script.write_text(
            f"#!{sys.executable}\n"
            f"import os, signal, sys\n"
            f"sys.path.insert(0, {str(repository)!r})\n"
            f"from tests.unit.client.fake_daemon import FakeDaemon, stream\n"
            f"open({str(own_directory)!r} + '/pid', 'w').write(str(os.getpid()))\n"
            f"with FakeDaemon(os.environ['CORRAL_RUNTIME_DIR'] + '/daemon.sock') as daemon:\n"
            f"    daemon.answer('POST', '/v1/up', stream({STARTED!r}))\n"
            f"    os.write(int(sys.argv[-1]), b'.')\n"
            f"    signal.pause()\n"
        )
        script.chmod(0o700)
        monkeypatch.setattr("corral.client.start.sys.executable", str(script))
        yield
        pid = int((own_directory / "pid").read_text())
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

    @pytest.mark.usefixtures("daemon_to_be")
    def test_one_is_started(self, corral: Corral, spec: Path) -> None:
        outcome = corral("up")
        assert (outcome.code, outcome.out) == (0, "shop: 2 started, 1 as declared\n")


class TestWhatHasToWait:
    PENDING = result(agent("builder-1", "start"), agent("lead", "pending", detail="waits for db to be ready"))

    def test_is_named_with_the_reason_and_is_no_failure(self, corral: Corral, daemon: FakeDaemon, spec: Path) -> None:
        daemon.answer("POST", "/v1/up", stream(self.PENDING))
        done = corral("up", "-f", str(spec))
        assert done.code == 0
        assert daemon.last.json()["wait"] is None
        assert done.out.splitlines() == [
            "shop: 1 started, 1 pending",
            "  … lead is pending: waits for db to be ready",
        ]

    def test_is_one_for_who_wanted_to_wait_for_it(self, corral: Corral, daemon: FakeDaemon, spec: Path) -> None:
        daemon.answer("POST", "/v1/up", stream(self.PENDING))
        done = corral("up", "-f", str(spec), "--wait", "2m")
        assert daemon.last.json()["wait"] == 120
        assert done.code == 4
        assert "lead is still pending: waits for db to be ready" in done.err


#: Each of these takes as long to load as a good part of Python does to start.
_DEAR = frozenset(
    "argparse json re typing dataclasses enum socket pathlib shutil subprocess collections functools contextlib "
    "importlib datetime logging struct selectors tomllib".split()
)


def test_loads_nothing_dear(real: Instance, daemon: FakeDaemon, spec: Path) -> None:
    daemon.answer("POST", "/v1/up", stream(step("builder-1", "started"), STARTED))
    code = (
        "import sys; before = set(sys.modules)\n"
        "from corral.cli.main import main\n"
        "assert main(sys.argv[1:]) == 0\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "up"], capture_output=True, text=True, check=True, cwd=spec.parent
    )
    assert "builder-1: started" in done.stderr
    loaded = done.stdout.splitlines()[-1].split()
    assert "corral.client.decoding" in loaded
    assert _DEAR.isdisjoint(loaded)
