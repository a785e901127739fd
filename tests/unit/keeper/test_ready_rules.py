"""When a run is ready whose table says what has to be seen."""

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import ParamSpec

import pytest

from corral.domain.errors import CorralError
from corral.domain.ready_rules import ReadyRule
from corral.keeper.ready_rules import Eyes, RuleWatches
from corral.ports.runs import ReadyOrder

P = ParamSpec("P")


def in_a_loop(test: Callable[P, Coroutine[None, None, None]]) -> Callable[P, None]:
    @functools.wraps(test)
    def run(*arguments: P.args, **named: P.kwargs) -> None:
        asyncio.run(test(*arguments, **named))

    return run


class Host:
    """What can be seen, as the test has it; and what was looked at."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.listening: set[str] = set()
        self.succeeding: set[str] = set()
        self.looks = 0
        self.silent = False
        self.ready: list[tuple[str, str]] = []
        self.came = asyncio.Event()
        eyes = Eyes(screen=self._screen, listens=self._listens, succeeds=self._succeeds)
        self.watches = RuleWatches(eyes, self._found)

    def watch(self, run: str = "r1", **rule: str) -> None:
        self.watches.watch(ReadyOrder(run=run, rule=ReadyRule(**rule), directory="/x"), "db")

    async def _screen(self, _run: str, _history: int) -> list[str]:
        return self.lines

    async def _listens(self, agent: str, port: str) -> bool:
        self._looked()
        if self.silent:
            raise CorralError("nobody answers")
        return f"{agent}:{port}" in self.listening

    async def _succeeds(self, agent: str, order: ReadyOrder) -> bool:
        self._looked()
        return f"{agent} {order.run} {order.rule.command} {order.directory}" in self.succeeding

    def _looked(self) -> None:
        self.looks += 1
        self.came.set()

    def _found(self, run: str, evidence: str) -> None:
        self.ready.append((run, evidence))
        self.came.set()

    async def until(self, predicate: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not predicate():
                self.came.clear()
                await self.came.wait()


@in_a_loop
async def test_a_line_is_found_however_it_is_cut_and_told_once() -> None:
    host = Host()
    host.watch(log="listening on \\d+")
    for piece in (b"\x1b[32mINFO\x1b[0m listen", b"ing on ", b"80", b"80\r\n", b"listening on 9\r\n"):
        host.watches.output("r1", piece)
    assert host.ready == [("r1", "it wrote 'INFO listening on 8080'")]


@in_a_loop
async def test_a_line_without_an_end_is_looked_at_in_pieces() -> None:
    host = Host()
    host.watch(log="ready")
    host.watches.output("r1", b"." * 9000 + b"ready" + b"." * 100)
    assert len(host.ready) == 1


@in_a_loop
async def test_a_line_of_another_run_says_nothing() -> None:
    host = Host()
    host.watch(log="ready")
    host.watches.output("r2", b"ready\n")
    assert host.ready == []


@in_a_loop
async def test_a_line_that_was_there_before_counts() -> None:
    host = Host()
    host.lines = ["ready"]
    host.watch(log="^ready$")
    await host.until(lambda: bool(host.ready))
    assert host.ready == [("r1", "it wrote 'ready'")]


@in_a_loop
async def test_a_port_is_looked_at_again_and_no_more_once_it_is_there() -> None:
    host = Host()
    host.watch(port="web")
    await host.until(lambda: host.looks >= 2)
    host.listening.add("db:web")
    await host.until(lambda: bool(host.ready))
    assert host.ready == [("r1", "port web is listened on")]
    looks = host.looks
    host.watches.output("r1", b"more\n")
    await asyncio.sleep(0)
    assert host.looks == looks


@in_a_loop
async def test_output_has_it_looked_at_before_the_next_pause_is_over() -> None:
    host = Host()
    host.watch(port="web")
    await host.until(lambda: host.looks >= 4)
    before = host.looks
    host.listening.add("db:web")
    host.watches.output("r1", b"up\n")
    await host.until(lambda: bool(host.ready))
    assert host.looks == before + 1


@in_a_loop
async def test_a_command_runs_where_the_agent_works() -> None:
    host = Host()
    host.succeeding.add("db r1 pg_isready /x")
    host.watch(command="pg_isready")
    await host.until(lambda: bool(host.ready))
    assert host.ready == [("r1", "'pg_isready' succeeded")]


@in_a_loop
async def test_whom_nobody_can_ask_is_not_ready() -> None:
    host = Host()
    host.silent = True
    host.watch(port="web")
    await host.until(lambda: host.looks >= 2)
    assert host.ready == []
    host.silent = False
    host.listening.add("db:web")
    await host.until(lambda: bool(host.ready))


@in_a_loop
async def test_a_run_that_is_over_is_watched_no_more() -> None:
    host = Host()
    host.watch(log="ready")
    host.watches.cancel("r1")
    host.watches.output("r1", b"ready\n")
    assert host.ready == []


@pytest.mark.parametrize("again", [1, 3])
@in_a_loop
async def test_who_is_watched_already_goes_on_with_its_pauses(again: int) -> None:
    host = Host()
    for _ in range(again):
        host.watch(port="web")
    await host.until(lambda: host.looks >= 1)
    assert host.looks == 1
