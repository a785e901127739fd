"""One keeper in the place of several: where each verb goes, and what of the answers counts."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, cast

import pytest

from corral.domain.errors import UnavailableError
from corral.domain.limits import NO_LIMITS
from corral.ports.casts import RecordingOrder
from corral.ports.census import Bystander, Check, Residue
from corral.ports.checking import LastKey
from corral.ports.dialogs import Announced
from corral.ports.keeper import Keeper
from corral.ports.memory import HostMemory
from corral.ports.resources import Listening
from corral.ports.runs import Ended, ExitStatus, Launch, ReadyOrder, Run, Started, TeamOrder
from corral.ports.usage import Pressure, Usage
from corral.ports.workspace import WorkspaceRemoval
from corral.supervise import routes
from corral.supervise.several import SeveralKeepers
from tests.support.records import AGENT

MEMBERS = {
    "a": replace(AGENT, name="a", run="r1", workspace="/of/ann"),
    "b": replace(AGENT, name="b", run="r2", workspace="/of/bot", run_as="bot"),
}


class Played:
    """A keeper that notes what it was asked, and answers what a test says."""

    def __init__(self, user: str) -> None:
        self.user = user
        self.asked: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.answers: dict[str, Any] = {}

    def __getattr__(self, verb: str) -> Callable[..., Awaitable[Any]]:
        async def answer(*arguments: Any, **named: Any) -> Any:
            self.asked.append((verb, arguments, named))
            found = self.answers.get(verb, self.user)
            if isinstance(found, Exception):
                raise found
            return found

        return answer


class Scene:
    def __init__(self) -> None:
        self.ann, self.bot = Played("ann"), Played("bot")
        keepers = cast("dict[str, Keeper]", {"ann": self.ann, "bot": self.bot})
        self.keeper = SeveralKeepers("ann", keepers, lambda: MEMBERS).as_keeper()

    def answer(self, verb: str, ann: Any, bot: Any) -> None:
        self.ann.answers[verb], self.bot.answers[verb] = ann, bot


def verbs() -> set[str]:
    return {name for name, _ in inspect.getmembers(Keeper, inspect.isfunction) if not name.startswith("_")}


def test_every_verb_has_a_rule_and_one_only() -> None:
    rules = [
        *(routes.BY_AGENT, routes.BY_RUN, routes.BY_PATH, routes.BY_ORDER),
        *(routes.TO_THE_OWNER, routes.TO_ALL, routes.NOT_OF_A_TEAM),
    ]
    named = [verb for rule in rules for verb in rule]
    assert set(named) == verbs(), "a new verb needs a rule in supervise/routes.py"
    assert len(named) == len(set(named))
    written = {name for name in vars(SeveralKeepers) if not name.startswith("_")} - {"as_keeper"}
    assert written == routes.TO_ALL


def test_what_is_written_out_takes_what_the_port_says() -> None:
    for verb in routes.TO_ALL:
        theirs, ours = (inspect.signature(getattr(one, verb)).parameters for one in (Keeper, SeveralKeepers))
        assert [(one.name, one.kind) for one in theirs.values()] == [(one.name, one.kind) for one in ours.values()]


@pytest.mark.parametrize(
    ("ask", "whose"),
    [
        (lambda keeper: keeper.screen("shop", "r1"), "ann"),
        (lambda keeper: keeper.screen("shop", run="r2"), "bot"),
        (lambda keeper: keeper.screen("shop", "unheard-of"), "ann"),
        (lambda keeper: keeper.recordings("shop", "b"), "bot"),
        (lambda keeper: keeper.recordings("shop", "gone"), "ann"),
        (lambda keeper: keeper.fork_point("/of/bot"), "bot"),
        (lambda keeper: keeper.real_paths("/elsewhere", []), "ann"),
        (lambda keeper: keeper.watch_ready("shop", ReadyOrder(run="r2")), "bot"),
        (lambda keeper: keeper.repository("/of/bot"), "ann"),
    ],
)
def test_what_is_about_one_agent_goes_to_the_keeper_that_has_it(ask: Callable[[Any], Any], whose: str) -> None:
    async def play() -> None:
        scene = Scene()
        assert await ask(scene.keeper) == whose
        assert (len(scene.ann.asked), len(scene.bot.asked)) == ((1, 0) if whose == "ann" else (0, 1))

    asyncio.run(play())


def test_what_is_meant_for_one_keeper_is_not_asked_of_several() -> None:
    with pytest.raises(AttributeError, match="asked of one keeper"):
        _ = Scene().keeper.shut_down


def test_starting_and_stopping_are_split_and_each_is_believed_about_its_own() -> None:
    async def play() -> None:
        scene = Scene()
        launches = [
            Launch(agent=name, run=one.run, command=["cat"], shell=False, directory="/", environment={})
            for name, one in MEMBERS.items()
        ]
        runs = [Run(agent="a", run="r1"), Run(agent="b", run="r2")]
        scene.answer("start", Started(runs=runs[:1], notes=["same"]), Started(runs=runs, notes=["same"]))
        started = await scene.keeper.start("shop", launches, TeamOrder())
        assert [(run.agent, run.run) for run in started.runs] == [("a", "r1"), ("b", "r2")]
        assert started.notes == ["same"]
        assert [launch.agent for launch in scene.bot.asked[-1][1][1]] == ["b"]
        exits = {"r1": ExitStatus(code=0), "r2": ExitStatus(code=1)}
        scene.answer("stop", Ended(), Ended(gone=["r1", "r2"], exits=exits, killed=2))
        ended = await scene.keeper.stop("shop", {"r1": "a", "r2": "b"}, 1.0, spare=False)
        assert (ended.gone, list(ended.exits), ended.killed) == (["r2"], ["r2"], 2), "not what bot says of ann's"
        scene.answer("take_down", Ended(gone=["r1", "r2"]), Ended(gone=["r1", "r2"]))
        assert (await scene.keeper.take_down("shop", 1.0)).gone == ["r1", "r2"]
        before = len(scene.bot.asked)
        scene.answer("stop", Ended(gone=["r1"]), Ended())
        assert (await scene.keeper.stop("shop", {"r1": "a"}, 1.0, spare=False)).gone == ["r1"]
        assert len(scene.bot.asked) == before, "there is nothing of bot's to stop"

    asyncio.run(play())


def test_what_is_about_the_team_is_put_together() -> None:
    async def play() -> None:
        scene, team = Scene(), "shop"
        keeper = scene.keeper
        thing = Residue(kind="process", name="x")
        scene.answer(
            "census",
            [Check(what="processes", found=0), Check(what="sockets", found=1)],
            [Check(what="processes", found=2, residue=[thing]), Check(what="sockets", found=None)],
        )
        assert [(one.what, one.found, len(one.residue)) for one in await keeper.census(team)] == [
            ("processes", 2, 1),
            ("sockets", None, 0),
        ]
        scene.answer("bystanders", [Bystander(pid=1, command="x", directory="/")], [])
        assert len(await keeper.bystanders(team, [], 0)) == 1
        scene.answer(
            "listening",
            [Listening(port=1), Listening(port=2)],
            [Listening(port=2, agent="b"), Listening(port=3, agent="a")],
        )
        assert [(one.port, one.agent) for one in await keeper.listening(team, [])] == [(2, "b"), (1, "")]
        scene.answer("host_memory", HostMemory(free={team: 50.0}), HostMemory(free={team: 5.0}))
        assert await keeper.host_memory([team]) == HostMemory(free={team: 5.0})
        scene.answer("last_key", LastKey(seconds=None), LastKey(seconds=4.0))
        assert (await keeper.last_key(team)).seconds == 4.0
        scene.answer("last_key", LastKey(), LastKey())
        assert (await keeper.last_key(team)).seconds is None
        scene.answer("announce", Announced(terminals=1, desktop=True), Announced(terminals=2, problems=["x"]))
        told = await keeper.announce(team, "t", "x", bell=True, desktop=True)
        assert (told.terminals, told.desktop, told.problems) == (3, True, ["x"])
        assert [one.asked[-1][2]["desktop"] for one in (scene.ann, scene.bot)] == [True, False]
        scene.answer("over", ["r1"], ["r1", "r2"])
        assert await keeper.over(team, {"r1": "a", "r2": "b"}) == ["r1", "r2"]
        scene.answer("inspect_workspaces", [WorkspaceRemoval(path="/1", removed=False)], [])
        assert len(await keeper.inspect_workspaces(team)) == 1
        scene.answer("limit", ["note"], ["note"])
        assert await keeper.limit(team, {"b": NO_LIMITS}, NO_LIMITS) == ["note"]
        assert [list(one.asked[-1][1][1]) for one in (scene.ann, scene.bot)] == [[], ["b"]]
        await keeper.keep_environments(team, {"a": {"X": "secret"}})
        assert scene.bot.asked[-1][1][1] == {}, "bot is not told what ann's agents have"
        await keeper.freeze(team, ["r2"], frozen=True)
        assert (scene.ann.asked[-1][0], scene.bot.asked[-1][0]) == ("keep_environments", "freeze")
        await keeper.record(team, RecordingOrder(on=True))
        await keeper.prepare(team, TeamOrder())
        assert [one.asked[-1][0] for one in (scene.ann, scene.bot)] == ["prepare", "prepare"]

    asyncio.run(play())


def test_a_team_uses_what_its_parts_use_and_what_does_not_add_up_nobody_can_tell() -> None:
    def used(agent: str, memory: int, level: str = "systemd", kills: int | None = 0) -> Usage:
        return Usage(
            agent=agent, level=level, cpu_seconds=1.5, memory_current=memory, tasks=2, memory_peak=9, oom_kills=kills,
            memory_limit=99, tasks_limit=9, pressure=Pressure(cpu=1.0), cgroup="/x", frozen=True,
        )  # fmt: skip

    async def play() -> None:
        scene = Scene()
        scene.answer("usage", [used("a", 10), used("", 11)], [used("b", 20), used("a", 5), used("", 22, "cgroup", 3)])
        *agents, whole = await scene.keeper.usage("shop")
        assert [(one.agent, one.memory_current) for one in agents] == [("a", 10), ("b", 20)], "each of its own"
        expected = Usage(
            agent="", level="cgroup", cpu_seconds=3.0, memory_current=33, tasks=4, oom_kills=3, frozen=True
        )
        assert whole == expected
        scene.answer("usage", [], [used("b", 20), used("", 22)])
        assert (await scene.keeper.usage("shop"))[-1] == used("", 22), "as it is, where one user has all of it"
        scene.answer("usage", [], [])
        assert await scene.keeper.usage("shop") == []

    asyncio.run(play())


def test_one_that_does_not_answer_is_told_when_the_others_are_done() -> None:
    async def play() -> None:
        scene = Scene()
        scene.answer("take_down", UnavailableError("gone", ""), Ended())
        with pytest.raises(UnavailableError):
            await scene.keeper.take_down("shop", 1.0)
        assert scene.bot.asked[-1][0] == "take_down"

    asyncio.run(play())
