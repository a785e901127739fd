"""`corral mcp` as a coding agent has it: the real server, driven over stdio by the client of the official SDK."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from corral.mcp.tools import TOOLS
from corral.places import Places
from tests.support.instance import Instance
from tests.support.mcp_agent import Agent, run, started, text_of
from tests.support.process_daemon import ProcessDaemon
from tests.support.waiting import wait_for

pytestmark = pytest.mark.slow

SHOP_API = {"CORRAL_TEAM": "shop", "CORRAL_AGENT": "api"}
SHOP_DOCS = {"CORRAL_TEAM": "shop", "CORRAL_AGENT": "docs"}


class RealDaemon:
    """Corral's own, with the team up."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        instance.spec('[team]\nname = "shop"\n[agents.api]\ncommand = ["cat"]\n[agents.docs]\ncommand = ["cat"]\n')
        instance.run("up")

    def start(self) -> None:
        self._instance.run("daemon", "start")

    def stop(self) -> None:
        """Kill it: nothing is put in order."""
        pid = self._instance.json("daemon", "status")["pid"]
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not os.path.exists(f"/proc/{pid}"), what="the end of the daemon")


@pytest.fixture
def stand_in() -> Iterator[ProcessDaemon]:
    """A daemon in the test, which can be looked into."""
    with ProcessDaemon(Places.from_environment().daemon_socket) as one:
        yield one


@pytest.fixture(params=["stand_in", pytest.param("real", marks=pytest.mark.tmux)])
def daemon(request: pytest.FixtureRequest) -> ProcessDaemon | RealDaemon:
    """Whoever answers: what holds for one must hold for the other."""
    if request.param == "real":
        return RealDaemon(request.getfixturevalue("instance"))
    one = request.getfixturevalue("stand_in")
    assert isinstance(one, ProcessDaemon)
    return one


Daemon = ProcessDaemon | RealDaemon


@pytest.fixture
def agent(own_directory: Path) -> Callable[..., Any]:
    """Starts the server of an agent of the team: `async with agent() as api:`."""

    def start(whose: dict[str, str] = SHOP_API, *words: str, mode: str = "auto") -> Any:
        return started({**os.environ, **whose}, *words, errors=str(own_directory / "stderr"), mode=mode)

    return start


async def until(so: Callable[[], bool]) -> None:
    await anyio.to_thread.run_sync(wait_for, so)


async def until_listed(agent: Agent) -> None:
    """Wait until a process of the agent is there."""
    with anyio.fail_after(20):
        while not (await agent.call("process_list"))["processes"]:
            await anyio.lowlevel.checkpoint()


class TestTools:
    @pytest.mark.parametrize("mode", ["legacy", "auto"])
    def test_all_are_there_and_each_is_explained(self, agent: Any, mode: str) -> None:
        async def test() -> None:
            async with agent(mode=mode) as api:
                tools = (await api.client.list_tools()).tools
                assert [tool.name for tool in tools] == [tool.name for tool in TOOLS]
                for tool in tools:
                    assert len(tool.description or "") > 100, tool.name
                    assert tool.title
                    assert tool.annotations is not None
                    for name, schema in tool.input_schema["properties"].items():
                        assert len(schema["description"]) > 20, (tool.name, name)
                    assert tool.output_schema is not None
                    for name, schema in tool.output_schema["properties"].items():
                        assert schema["description"], (tool.name, name)
                assert "background=true" in (api.client.instructions or "")

        run(test)

    def test_a_command_that_ends(self, agent: Any, daemon: Daemon) -> None:
        async def test() -> None:
            async with agent() as api:
                done = await api.call("execute", command="echo hello; echo there >&2; exit 3")
                assert (done["running"], done["exit_code"], done["timed_out"]) == (False, 3, False)
                assert done["output"] == "hello\nthere\n"
                assert (done["team"], done["agent"]) == ("shop", "api")
                text = await api.text("execute", command="echo hello")
                assert text.startswith("exited with code 0 (p")
                assert text.endswith("\n\nhello\n")

        run(test)

    def test_everything_that_can_be_said_of_a_command(self, agent: Any, daemon: Daemon, tmp_path: Path) -> None:
        async def test() -> None:
            async with agent() as api:
                done = await api.call("execute", argv=["printf", "%s|", "a b", "$HOME"])
                assert done["output"] == "a b|$HOME|"
                done = await api.call("execute", command="pwd; echo $COLOUR; cat", workdir="/", env={"COLOUR": "red"})
                assert done["output"] == "/\nred\n"
                done = await api.call("execute", command="tr a-z A-Z", input="Grüße\n")
                assert done["output"] == "GRüßE\n"
                done = await api.call("execute", command="seq 100000", limit=1000)
                assert done["output"].startswith("1\n2\n")
                assert len(done["output"]) < 2000
                done = await api.call("execute", command="printf '\\377'")
                assert (done["encoding"], done["output"]) == ("base64", "/w==")

        run(test)

    def test_a_command_that_takes_longer_goes_on(self, agent: Any, stand_in: ProcessDaemon) -> None:
        async def test() -> None:
            async with agent() as api:
                first = await api.call("execute", command="echo one; read -t 0.5 x <> <(:); echo two", timeout=0.1)
                assert (first["running"], first["timed_out"], first["exit_code"]) == (True, True, None)
                process = first["process_id"]
                ended = await api.call("process_wait", process_id=process)
                assert (ended["running"], ended["exit_code"]) == (False, 0)
                rest = await api.call("process_output", process_id=process, after=first["next"])
                assert first["output"] + rest["output"] == "one\ntwo\n"
                assert rest["closed"]

        run(test)

    def test_a_server_in_the_background(self, agent: Any, daemon: Daemon) -> None:
        async def test() -> None:
            async with agent() as api:
                started = await api.call(
                    "execute", command="echo starting; sleep 0.3; echo ready on 1; sleep 60", background=True
                )
                process = started["process_id"]
                seen = await api.call("process_output", process_id=process, until="ready on [0-9]+", wait=20)
                assert seen["matched"]
                shown = await api.call("process_output", process_id=process, filter="^ready")
                assert shown["output"] == "ready on 1\n"
                (listed,) = (await api.call("process_list"))["processes"]
                assert (listed["process_id"], listed["running"]) == (process, True)
                assert process in await api.text("process_list")
                sent = await api.call("process_signal", process_id=process, signal="SIGCONT")
                assert sent["reached"] == 1
                killed = await api.call("process_kill", process_id=process, grace=1)
                assert (killed["running"], killed["signal"], killed["left"]) == (False, "SIGTERM", [])
                assert await api.call("process_remove", process_id=process) == {"process_id": process, "removed": True}
                assert (await api.call("process_list"))["processes"] == []

        run(test)

    def test_an_ampersand_is_promoted(self, agent: Any, stand_in: ProcessDaemon) -> None:
        async def test() -> None:
            async with agent() as api:
                result = await api.client.call_tool("execute", {"command": "sleep 60 &"})
                started = result.structured_content or {}
                assert (started["promoted"], started["running"]) == (True, True)
                assert "it ended in &" in text_of(result)
                await api.call("process_kill", process_id=started["process_id"])

        run(test)

    def test_typing_into_a_program(self, agent: Any, daemon: Daemon) -> None:
        async def test() -> None:
            async with agent() as api:
                started = await api.call("execute", command="read name; echo hello $name; cat", stdin=True, timeout=0)
                process = started["process_id"]
                await api.call("process_write", process_id=process, text="ada\n")
                heard = await api.call("process_output", process_id=process, wait=20)
                assert heard["output"] == "hello ada\n"
                await api.call("process_write", process_id=process, text="bye", eof=True)
                assert (await api.call("process_wait", process_id=process))["exit_code"] == 0
                rest = await api.call("process_output", process_id=process, after=heard["next"])
                assert rest["output"] == "bye"

        run(test)


class TestErrors:
    def test_an_unknown_process(self, agent: Any, stand_in: ProcessDaemon) -> None:
        async def test() -> None:
            async with agent() as api:
                for tool in ("process_output", "process_wait", "process_kill", "process_remove"):
                    for process in ("p0123456789", "p/../../agents?x=", "", "nonsense"):
                        words = await api.error(tool, process_id=process)
                        assert f"there is no process {process!r}" in words or f"no process {process}" in words
                        assert "process_list" in words

        run(test)

    def test_what_does_not_fit(self, agent: Any, stand_in: ProcessDaemon) -> None:
        async def test() -> None:
            async with agent() as api:
                assert "either command or argv" in await api.error("execute")
                assert "did you mean timeout?" in await api.error("execute", command="true", timeout_ms=5)
                assert "600 or less" in await api.error("execute", command="true", timeout=3600)
                assert "must be true or false" in await api.error("execute", command="true", background="yes")
                assert "needs process_id" in await api.error("process_wait")
                assert "there is no tool 'bash'" in await api.error("bash", command="true")
                done = await api.call("execute", command="true", workdir=None, env=None)  # some name them all
                assert done["exit_code"] == 0

        run(test)

    def test_a_refusal_has_its_remedy(self, agent: Any, stand_in: ProcessDaemon) -> None:
        async def test() -> None:
            async with agent() as api:
                started = await api.call("execute", command="sleep 60", background=True)
                words = await api.error("process_remove", process_id=started["process_id"])
                assert started["process_id"] in words
                assert len(words.splitlines()) == 2
                words = await api.error("process_write", process_id=started["process_id"], text="x")
                assert started["process_id"] in words

        run(test)

    def test_the_daemon_comes_and_goes(self, agent: Any, daemon: Daemon) -> None:
        async def test() -> None:
            async with agent() as api:
                started = await api.call("execute", command="echo one; sleep 60", background=True)
                await anyio.to_thread.run_sync(daemon.stop)
                words = await api.error("process_output", process_id=started["process_id"])
                assert words.splitlines()[0] in ("no team is up", "the daemon is not running; its agents may be")
                await anyio.to_thread.run_sync(daemon.start)
                seen = await api.call("process_output", process_id=started["process_id"], wait=20)
                assert seen["output"] == "one\n"

        run(test)

    def test_the_daemon_dies_while_it_is_waited_for(self, agent: Any, daemon: Daemon) -> None:
        async def test() -> None:
            async with agent() as api, anyio.create_task_group() as both:
                words: list[str] = []

                async def wait() -> None:
                    words.append(await api.error("execute", command="sleep 60"))

                both.start_soon(wait)
                await until_listed(api)
                await anyio.to_thread.run_sync(daemon.stop)
                await until(lambda: bool(words))
                # It may still have been there, or be gone, when it was looked for.
                assert "the daemon's answer" in words[0] or "may have done what was asked" in words[0]
                await anyio.to_thread.run_sync(daemon.start)
                (left,) = (await api.call("process_list"))["processes"]
                assert left["running"]
                assert f"may run all the same, as {left['process_id']}" in words[0]

        run(test)


class TestWaiting:
    def test_a_long_wait_holds_up_nobody(self, agent: Any, daemon: Daemon) -> None:
        async def test() -> None:
            async with agent() as api:
                started = await api.call("execute", command="sleep 60", background=True)
                async with anyio.create_task_group() as waiting:
                    for _ in range(60):  # more than anyio has threads by default
                        waiting.start_soon(lambda: api.call("process_wait", process_id=started["process_id"]))
                    await anyio.sleep(0.3)
                    began = time.monotonic()
                    done = await api.call("execute", command="echo quick")
                    assert done["output"] == "quick\n"
                    assert time.monotonic() - began < 5
                    await api.call("process_kill", process_id=started["process_id"])

        run(test)

    def test_a_cancelled_call_ends_its_wait(self, agent: Any, stand_in: ProcessDaemon) -> None:
        async def test() -> None:
            async with agent() as api:
                with anyio.move_on_after(0.5):
                    await api.call("execute", command="sleep 60", timeout=600)
                await until(lambda: stand_in.abandoned == 1)

        run(test)

    def test_a_cancelled_call_ends_nothing_else(self, agent: Any, daemon: Daemon) -> None:
        async def test() -> None:
            async with agent() as api:
                with anyio.move_on_after(0.5):
                    await api.call("execute", command="sleep 60", timeout=600)
                (left,) = (await api.call("process_list"))["processes"]
                assert left["running"]

        run(test)

    def test_the_server_ends_with_its_input_though_calls_wait(self, agent: Any, stand_in: ProcessDaemon) -> None:
        async def test() -> None:
            began = time.monotonic()
            async with agent() as api, anyio.create_task_group() as waiting:
                waiting.start_soon(lambda: api.call("execute", command="sleep 60", timeout=600))
                await until_listed(api)
                waiting.cancel_scope.cancel()
            assert time.monotonic() - began < 20

        run(test)


class TestWhose:
    def test_two_agents_do_not_see_each_other(self, agent: Any, daemon: Daemon) -> None:
        async def test() -> None:
            async with agent(SHOP_API) as api, agent(SHOP_DOCS) as docs:
                started = await api.call("execute", command="echo secret; sleep 60", background=True)
                assert (await docs.call("process_list"))["processes"] == []
                for tool in ("process_output", "process_wait", "process_kill", "process_remove"):
                    assert "no process" in await docs.error(tool, process_id=started["process_id"])
                assert "no process" in await docs.error(
                    "process_signal", process_id=started["process_id"], signal="INT"
                )
                assert "no process" in await docs.error("process_write", process_id=started["process_id"], text="x")
                (listed,) = (await api.call("process_list"))["processes"]
                assert listed["running"]

        run(test)

    def test_the_agent_can_be_named(self, agent: Any, stand_in: ProcessDaemon) -> None:
        async def test() -> None:
            async with agent({}, "--agent", "shop/docs") as docs:
                assert (await docs.call("execute", command="true"))["agent"] == "docs"

        run(test)

    def test_nobodys_is_wrong_use(self, own_directory: Path) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "corral", "mcp"],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert "CORRAL_TEAM and CORRAL_AGENT are not set" in done.stderr
        assert "--agent TEAM/AGENT" in done.stderr


class TestStreams:
    def test_standard_output_has_the_protocol_alone(self, own_directory: Path, stand_in: ProcessDaemon) -> None:
        """Nothing but one JSON object a line, whatever comes in; what cannot be understood does not end the server."""
        requests = [
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _HELLO},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            "this is no JSON",
            {"jsonrpc": "2.0", "id": 2, "method": "no/such/method"},
            {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "execute", "arguments": {"x": 1}}},
            {"jsonrpc": "2.0", "id": 4, "method": "tools/list"},
        ]
        text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in requests)
        process = subprocess.Popen(
            [sys.executable, "-m", "corral", "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **SHOP_API},
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(text.encode())
        process.stdin.flush()
        answered = set()
        while 4 not in answered:
            line = json.loads(process.stdout.readline())
            assert line["jsonrpc"] == "2.0"
            answered.add(line.get("id"))
        rest, _ = process.communicate(timeout=20)
        assert rest == b""
        assert process.returncode == 0
        assert {1, 2, 3, 4} <= answered

    def test_a_client_that_dies_is_no_crash(self, own_directory: Path, stand_in: ProcessDaemon) -> None:
        process = subprocess.Popen(
            [sys.executable, "-m", "corral", "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **SHOP_API},
        )
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        process.stdin.close()
        said = process.stderr.read().decode()
        process.stderr.close()
        assert process.wait(20) == 0, said
        assert "Traceback" not in said

    def test_help_does_not_load_the_sdk(self, own_directory: Path) -> None:
        code = (
            "import sys; from corral.cli.main import main; main(['mcp', '--help']);"
            "print([name for name in sys.modules if name.startswith(('mcp', 'pydantic', 'anyio'))])"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "[]"


_HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
