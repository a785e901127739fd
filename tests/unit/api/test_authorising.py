"""What a request is decided about is what it is done to, however it is spelt; who may not see a thing finds none."""

import asyncio
import threading
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from corral.domain import spec
from corral.domain.audit_filter import Wanted
from corral.domain.policy import Caller, Decision, Question, Target
from corral.domain.records import NewEvent
from corral.service.authority import LONGEST_REMEMBERED
from tests.support.records import PERSON
from tests.unit.api.deciding import ME, People, Scripted, decided
from tests.unit.api.scene import OTHER_TEAM, Scene


def own(question: Question) -> bool:
    """Everybody sees everything, and does something to what is their own."""
    sees = question.verb.startswith(("list_", "events", "stats"))
    return sees or question.on.owner in ("", question.who.user)


def own_alone(question: Question) -> bool:
    """Nobody knows of anything but their own."""
    return question.on.owner == question.who.user


def own_team(question: Question) -> bool:
    """An agent knows of its team, and speaks for itself; people may do everything."""
    if not question.who.agent:
        return True
    team = question.who.agent.partition("/")[0]
    if question.verb == "list_agents":
        return question.on.team == team
    return question.on.team == team and question.on.agent in ("", question.who.agent.partition("/")[2])


@pytest.mark.parametrize(
    ("query", "about"),
    [
        ("agent=a&team=shop", ("shop", "a")),
        ("agent=a", ("shop", "a")),
        ("agent=a&cwd=/x/deep", ("shop", "a")),
        ("agent=z&agent=a&team=toys&team=shop", ("shop", "a")),  # of what is said twice, the last counts
        ("agent=%61&te%61m=shop", ("shop", "a")),
        ("agent=z&team=toys&x=1", None),
        ("agent=a&agent=z&team=shop&team=toys", None),
        ("agent=a&te%61m=toys&agent=z", None),
    ],
)
def test_one_agent_is_decided_about_as_its_handler_finds_it(
    tmp_path: Path, query: str, about: tuple[str, str] | None
) -> None:
    policy = Scripted(own)

    async def act(scene: Scene) -> None:
        reply = await scene.exec(query, argv=["true"])
        if about is None:
            assert reply.status == 403, reply.body
            assert reply.error == {
                "code": "denied",
                "message": "not allowed",
                "remedy": reply.error["remedy"],
                "rule": "no",
            }
            assert scene.keeper.played == {}
        else:
            assert reply.status == 200, reply.body
            assert [one.order.agent for one in scene.keeper.played.values()] == [about[1]]

    notes = decided(tmp_path, policy, act)
    named = about or ("toys", "z")
    assert {(on.team, on.agent) for on in policy.about("execute")} == {named}
    assert {(note.on.team, note.on.agent, note.allowed) for note in notes} == {(*named, about is not None)}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"agents": ["a"]}, 200),
        ({"agents": ["a", "a", "b"], "team": "shop"}, 200),
        ({"all": True, "team": "shop"}, 200),
        ({"agents": ["z"]}, 400),  # somebody else's is named with its team
        ({"agents": ["z"], "team": "toys"}, 403),
        ({"all": True, "team": "toys"}, 403),
        ({"all": True, "cwd": "/y/z"}, 200),  # a directory of somebody else's team says nothing; the only own one
        ({"agents": ["a", "z"]}, 400),  # of two teams
        ({"agents": []}, 400),
        ({"agents": ["nobody"]}, 404),
    ],
)
def test_agents_named_in_a_body_are_decided_about_one_by_one(
    tmp_path: Path, body: Mapping[str, object], status: int
) -> None:
    policy = Scripted(own)

    async def act(scene: Scene) -> None:
        # Whatever the query says: the handler does not look there, so nobody decides by it.
        reply = await scene.ask("POST", "/v1/pause?team=shop&agent=a", body)
        assert reply.status == status, reply.body

    notes = decided(tmp_path, policy, act)
    assert notes[0].allowed is (status == 200)
    asked = {on.agent for on in policy.about("pause")}
    wanted = body.get("agents") or {"toys": ["z"]}.get(str(body.get("team")), ["a", "b"])
    if status in (200, 403):
        assert asked == set(wanted)  # type: ignore[call-overload]
        # An entry each, and if it was allowed another for what came of it, of the same trace.
        decisions = [note for note in notes if not note.outcome or note.outcome == "403"]
        assert {note.on.agent for note in decisions} == asked
        outcomes = {note.on.agent: note.outcome for note in notes if note not in decisions}
        # Nothing runs here that could be paused: that is what came of it, although the answer began with 200.
        assert outcomes == (dict.fromkeys(asked, "503") if status == 200 else {})
        assert len({note.trace for note in notes}) == 1


def test_one_agent_that_may_not_be_touched_keeps_all_from_it(tmp_path: Path) -> None:
    policy = Scripted(lambda question: question.on.agent != "b")

    async def act(scene: Scene) -> None:
        assert (await scene.ask("POST", "/v1/pause", {"all": True, "team": "shop"})).status == 403
        assert not scene.registry.agent("shop", "a").paused

    notes = decided(tmp_path, policy, act)
    assert [(note.on.agent, note.allowed, note.rule, note.outcome) for note in notes] == [("b", False, "no", "403")]


def test_what_may_not_be_seen_is_not_there(tmp_path: Path) -> None:
    """The same answer, word for word, as for what there is not: by name, by id, and where names are told as a help."""

    async def act(scene: Scene) -> None:
        await scene.exec("agent=a", argv=["true"], process_id="mine")
        unseen = await scene.exec("agent=z&team=toys", argv=["true"])
        missing = await scene.exec("agent=z&team=tays", argv=["true"])
        assert unseen.status == missing.status == 404
        assert unseen.body == missing.body.replace(b"tays", b"toys")
        assert b"toys" not in missing.body
        # `z` is of one team only, which is not there for us.
        assert (await scene.exec("agent=z", argv=["true"])).status == 404
        assert (await scene.ask("GET", "/v1/kv/list?team=toys")).status == 404
        assert (await scene.ask("GET", "/v1/events?team=toys")).status == 404
        ours = (await scene.ask("GET", "/v1/agents")).json
        assert {(one["team"], one["agent"]) for one in ours} == {("shop", "a"), ("shop", "b")}
        assert [one["team"] for one in (await scene.ask("GET", "/v1/teams")).json["teams"]] == ["shop"]
        assert (await scene.ask("GET", "/v1/agents?team=toys")).status == 404

    notes = decided(tmp_path, Scripted(own_alone), act)
    denied = [note for note in notes if not note.allowed]
    assert {note.outcome for note in denied} == {"404"}
    assert len(denied) == 6


def test_names_mean_what_they_mean_among_what_one_sees(tmp_path: Path) -> None:
    """With another's agent of the same name, ours is still the only one."""

    async def act(scene: Scene) -> None:
        z = scene.registry.agent("toys", "z")
        await scene.registry.commit(PERSON, agents=[replace(z, name="a", position=1)])
        assert (await scene.exec("agent=a", argv=["true"])).status == 200
        # The only team that we know of needs no name either.
        assert (await scene.ask("POST", "/v1/kv", {"puts": {"k": "v"}})).status == 200
        assert (await scene.ask("GET", "/v1/kv?key=k&team=shop")).json["value"] == "v"

    decided(tmp_path, Scripted(own_alone), act)


def test_who_may_not_even_see_themselves_is_told_so_whatever_they_name(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        for target in ("/v1/screen?agent=a", "/v1/screen?agent=nobody", "/v1/processes/nothing"):
            reply = await scene.ask("GET", target)
            assert (reply.status, reply.error["code"]) == (403, "denied"), target

    decided(tmp_path, Scripted(lambda _: False), act)


class Nobody(People):
    """The name is a member's, and whoever has it now is somebody else."""

    def caller(self, user: str) -> Caller | None:
        known = super().caller(user)
        return None if known is None else replace(known, uid=known.uid + 1)


def test_who_got_the_name_of_a_member_is_none(tmp_path: Path) -> None:
    policy = Scripted(lambda question: question.who.member)

    async def act(scene: Scene) -> None:
        assert (await scene.ask("GET", "/v1/agents")).status == 403

    decided(tmp_path, policy, act, Nobody())
    assert {(question.who.member, question.who.role) for question in policy.asked} == {(False, "")}


# Agents


def test_an_agent_speaks_for_itself_and_for_nobody_else(tmp_path: Path) -> None:
    """Also if it names nobody: it does not speak for the person whose it is then."""
    policy = Scripted(own_team)

    async def act(scene: Scene) -> None:
        taken = await scene.ask("POST", "/v1/locks", {"name": "n"}, agent="shop/a")
        assert (taken.status, taken.json["agent"]) == (200, "shop/a"), taken.body
        assert (await scene.ask("POST", "/v1/locks?agent=b", {"name": "m"}, agent="shop/a")).status == 403
        assert (await scene.ask("POST", "/v1/locks?team=toys", {"name": "m"}, agent="shop/a")).status == 404
        sent = await scene.ask("POST", "/v1/messages", {"to": ["b"], "text": "hello"}, agent="shop/a")
        assert sent.status == 200, sent.body
        assert len((await scene.ask("GET", "/v1/messages/sent", agent="shop/a")).json["messages"]) == 1
        told = await scene.ask("POST", "/v1/messages", {"to": ["toys/z"], "text": "hello"}, agent="shop/a")
        assert told.status == 404
        assert (await scene.ask("GET", "/v1/messages/inbox?agent=b&team=shop", agent="shop/a")).status == 403
        assert (
            await scene.ask("POST", "/v1/hooks/claude?event=Stop&team=shop&agent=b", {}, agent="shop/a")
        ).status == 403

    decided(tmp_path, policy, act)
    asked = {(question.who.agent, question.who.role, question.who.teams) for question in policy.asked}
    assert asked == {("shop/a", "", ())}


# What changes meanwhile


class Slow(Scripted):
    """Something happens while it thinks."""

    def __init__(self, scene_of: list[Scene]) -> None:
        super().__init__(own)
        self._scene_of = scene_of
        self.done = False

    async def decide(self, question: Question) -> Decision:
        decision = await super().decide(question)
        if question.verb == "execute" and not self.done:
            self.done = True
            # The agent of that name is another's now.
            people.owners["shop"] = "ann"
        return decision


people = People()


def test_what_became_anothers_while_it_was_decided_about_is_decided_about_again(tmp_path: Path) -> None:
    people.owners["shop"] = ME
    policy = Slow([])

    async def act(scene: Scene) -> None:
        assert (await scene.exec("agent=a&team=shop", argv=["true"])).status == 403
        assert scene.keeper.played == {}

    decided(tmp_path, policy, act, people)
    assert [on.owner for on in policy.about("execute")] == [ME, "ann"]


def test_a_body_that_comes_late_is_for_who_it_is_then(tmp_path: Path) -> None:
    """Whoever was allowed while it was theirs, and sends the rest when it is another's, is too late."""
    facts = People()

    async def act(scene: Scene) -> None:
        reader, writer = await asyncio.open_unix_connection(scene.socket)
        writer.write(b"POST /v1/exec?agent=a&team=shop HTTP/1.1\r\nHost: c\r\nContent-Length: 17\r\n\r\n" + b'{"argv":')
        await policy.asked_about("execute")
        facts.owners["shop"] = "ann"
        writer.write(b'["true"]}')
        assert b" 403 " in await reader.readline()
        writer.close()
        assert scene.keeper.played == {}

    policy = Scripted(own)
    decided(tmp_path, policy, act, facts)


def test_a_team_that_another_started_first_is_not_adjusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`up` of a name that was free, which is another's when the lock of that name is had."""
    facts = People()
    text = '[team]\nname = "new"\n\n[agents.a]\ncommand = ["cat"]\n'

    async def act(scene: Scene) -> None:
        supervisor, waits = scene.services.supervisor, asyncio.Event()
        take = supervisor.lock

        def lock(team: str) -> AbstractAsyncContextManager[None]:
            waits.set()
            return take(team)

        async with take("new"):
            monkeypatch.setattr(supervisor, "lock", lock)
            asking = asyncio.ensure_future(
                scene.ask("POST", "/v1/up", {"file": "/n/corral.toml", "text": text, "dry_run": True})
            )
            await waits.wait()
            await scene.registry.commit(PERSON, teams=[replace(OTHER_TEAM, name="new", file="/n/corral.toml")])
            facts.owners["new"] = "ann"
        assert b'"code":"denied"' in (await asking).body

    policy = Scripted(own)
    decided(tmp_path, policy, act, facts)
    assert (policy.about("up")[0].owner, policy.about("up")[-1].owner) == (ME, "ann")


def test_a_file_that_is_denied_is_read_for_its_name_alone_once_and_beside_everybody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    name_in = spec.name_in

    def noted(text: str, file: str) -> str:
        read.append(threading.get_ident())
        return name_in(text, file)

    monkeypatch.setattr(spec, "name_in", noted)
    monkeypatch.setattr(spec, "parse", lambda *_: pytest.fail("nobody may have it started, and it was read"))
    text = '[team]\nname = "toys"\n[agents.a]\n' + "".join(f"comand{i} = 1\n" for i in range(2000))

    async def act(scene: Scene) -> None:
        reply = await scene.ask("POST", "/v1/up", {"file": "/n/corral.toml", "text": text})
        assert (reply.status, reply.error["code"]) == (403, "denied")

    policy = Scripted(lambda question: question.verb != "up")
    decided(tmp_path, policy, act)
    assert policy.about("up")[-1] == Target(kind="team", team="toys", owner="ann", owner_role="junior")
    assert len(read) == 1
    assert threading.get_ident() not in read


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/pause", {"team": "shop", "agents": ["a"] * 1001}),
        ("/v1/messages", {"text": "t", "to": ["a"] * 1001}),
        ("/v1/logs?team=shop&" + "&".join(["agent=a"] * 1001), None),
    ],
)
def test_nobody_has_more_names_looked_up_than_a_team_has(tmp_path: Path, path: str, body: object) -> None:
    async def act(scene: Scene) -> None:
        reply = await scene.ask("GET" if body is None else "POST", path, body)
        assert (reply.status, reply.error["code"]) == (400, "wrong_use"), reply.body

    decided(tmp_path, Scripted(lambda _: True), act)


def test_what_somebody_who_may_not_heal_says_was_healed_is_not_gone_through(tmp_path: Path) -> None:
    policy = Scripted(lambda question: question.verb != "note_fixes")

    async def act(scene: Scene) -> None:
        fixes = [
            {"check": "c", "subject": "s", "message": "m", "fixed": True, "team": f"t{i}", "agent": "a"}
            for i in range(100)
        ]
        assert (await scene.ask("POST", "/v1/doctor/fixes", {"fixes": fixes})).status == 403

    decided(tmp_path, policy, act)
    assert {on.kind for on in policy.about("note_fixes")} == {"host"}


def test_targets_say_whose_something_is(tmp_path: Path) -> None:
    policy = Scripted(lambda _: True)

    async def act(scene: Scene) -> None:
        await scene.ask("GET", "/v1/screen?agent=z&team=toys")
        await scene.ask("GET", "/v1/messages/inbox")
        await scene.ask("GET", "/v1/attach?agent=a&read_only=1")

    decided(tmp_path, policy, act)
    assert policy.about("screen") == [Target(kind="agent", team="toys", agent="z", owner="ann", owner_role="junior")]
    assert policy.about("list_inbox") == [Target(kind="person", owner=ME, owner_role="junior")]
    assert [question.facts for question in policy.asked if question.verb == "attach"] == [{"mode": "observe"}]


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/v1/nothing?team=shop", 404), ("PUT", "/v1/up", 400)])
def test_doors_that_are_not_there_are_in_the_trail_as_not_opened(
    tmp_path: Path, method: str, path: str, status: int
) -> None:
    async def act(scene: Scene) -> None:
        assert (await scene.ask(method, path)).status == status

    (note,) = decided(tmp_path, Scripted(own), act)
    assert (note.verb, note.allowed, note.rule, note.outcome) == ("unknown", False, "not_asked", str(status))
    assert (note.who.user, note.who.member, note.who.role) == (ME, True, "junior")


def test_a_body_that_is_too_large_is_in_the_trail_before_it_has_come(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        reader, writer = await asyncio.open_unix_connection(scene.socket)
        writer.write(b"POST /v1/up HTTP/1.1\r\nHost: corral\r\nContent-Length: 100000000\r\n\r\n" + b"x" * 100_000)
        assert int((await reader.readline()).split()[1]) in (400, 413)
        writer.close()

    (note,) = decided(tmp_path, Scripted(own), act)
    assert (note.verb, note.allowed, note.rule) == ("up", False, "not_asked")


class TestContents:
    """Who sees a thing and may not read it is told that it is there, and that there is more to it."""

    def test_of_agents_and_processes_are_for_those_who_may_read(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            await scene.registry.commit(
                PERSON, agents=[replace(one, last_words="a secret") for one in scene.registry.agents.values()]
            )
            agents = {one["agent"]: one for one in (await scene.ask("GET", "/v1/agents")).json}
            assert {name: (one["hidden"], one["last_words"], bool(one["command"])) for name, one in agents.items()} == {
                "a": (False, "a secret", True),
                "b": (False, "a secret", True),
                "z": (True, "", False),
            }
            scene.services.authority.policy.allows = lambda _: True  # type: ignore[union-attr]
            named = ("agent=a", "agent=z&team=toys")
            ids = [(await scene.exec(query, argv=["job", "x"], background=True)).json for query in named]
            scene.services.authority.policy.allows = sees  # type: ignore[union-attr]
            listed = {one["agent"]: one for one in (await scene.ask("GET", "/v1/processes")).json}
            assert {name: (one["hidden"], one["command"]) for name, one in listed.items()} == {
                "a": (False, "job x"),
                "z": (True, ""),
            }
            for one in ids:
                shown = (await scene.ask("GET", f"/v1/processes/{one['process_id']}")).json
                assert shown == listed[one["agent"]]

        decided(tmp_path, Scripted(sees), act)

    def test_of_events_are_for_those_who_may_read_what_they_tell_of(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            about = ("agent.exited", "lease.granted", "team.up")
            events = [NewEvent(event=event, team="toys", agent="z", data={"x": 1}) for event in about]
            await scene.services.journal.note(PERSON, [*events, replace(events[0], team="shop", agent="a")])
            told = [one async for one in scene.stream("/v1/events?event=*.exited&event=lease.*&event=team.*")]
            assert [(one["agent"], one["event"], one["data"], one.get("hidden")) for one in told] == [
                ("z", "agent.exited", {}, True),
                ("z", "lease.granted", {"x": 1}, None),  # who may list them is told what they are about
                ("z", "team.up", {"x": 1}, None),
                ("a", "agent.exited", {"x": 1}, None),
            ]

        decided(tmp_path, Scripted(sees), act)


def sees(question: Question) -> bool:
    """Everybody knows of everything, and what is agreed on; the rest is for whose it is."""
    return own(question) or question.verb in ("show_process", "wait_for_process")


class TestWhatIsNotEvenWhole:
    def test_whoever_leaves_before_the_body_is_there_is_in_the_trail(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            for target in ("/v1/kv?team=shop", "/v1/up"):
                _, writer = await asyncio.open_unix_connection(scene.socket)
                writer.write(f"POST {target} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc".encode())
                await writer.drain()
                writer.close()
            assert scene.services.audit is not None
            left = 0
            async for _ in scene.services.audit.read(Wanted(), lambda entry: entry.note.outcome == "left", follow=True):
                left += 1
                if left == 2:
                    break

        notes = decided(tmp_path, Scripted(own), act)
        assert {(note.verb, note.on.team, note.allowed, note.rule, note.outcome) for note in notes} == {
            ("change_values", "shop", False, "not_asked", "left"),
            ("up", "", False, "not_asked", "left"),
        }

    def test_a_query_that_cannot_be_read_is_in_the_trail(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            for target in ("/v1/agents?team=%00", "/v1/nothing?agent=%00"):
                assert (await scene.ask("GET", target)).status in (400, 404)

        notes = decided(tmp_path, Scripted(own), act)
        assert [(note.verb, note.allowed, note.outcome) for note in notes] == [
            ("list_agents", False, "400"),
            ("unknown", False, "404"),
        ]


def test_a_stream_that_may_not_go_on_has_that_as_its_outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corral.api.requests.STILL_SECONDS", 0.0)
    monkeypatch.setattr("corral.service.authority._FRESH_SECONDS", -1.0)
    policy = Scripted(own)

    async def act(scene: Scene) -> None:
        async def publish(value: str) -> None:
            assert (await scene.ask("POST", "/v1/topics?team=shop&topic=t", value.encode())).status == 200

        await publish("one")
        async with aclosing(scene.stream("/v1/topics/follow?team=shop&topic=t&after=0")) as stream:
            assert (await anext(stream))["topic"] == "t"
            policy.allows = lambda question: question.verb != "follow_topic"
            await publish("two")
            assert (await anext(stream))["error"]["code"] == "denied"

    notes = [note for note in decided(tmp_path, policy, act) if note.verb == "follow_topic"]
    begun, denied, ended = notes
    assert (begun.allowed, begun.outcome) == (True, "")
    assert (denied.allowed, denied.rule, denied.outcome) == (False, "no", "403")
    assert (ended.allowed, ended.outcome, ended.detail) == (True, "403", {"error": "denied"})
    assert begun.trace == ended.trace


def test_what_is_decided_about_a_very_long_query_is_not_remembered(tmp_path: Path) -> None:
    class ByHeart(Scripted):
        def known(self, question: Question) -> Decision | None:
            self.asked.append(question)
            return Decision(allow=True, rule="yes", reason="allowed")

    class Unchanged(People):
        def stamp(self) -> int:
            return 0

    policy = ByHeart(lambda _: True)

    async def asked_again(scene: Scene, length: int) -> bool:
        """Whether the policy is asked again when the same is asked for again."""
        target = f"/v1/agents?team=shop&x={'y' * length}"
        assert (await scene.ask("GET", target)).status == 200
        policy.asked.clear()
        assert (await scene.ask("GET", target)).status == 200
        return bool(policy.asked)

    async def act(scene: Scene) -> None:
        assert not await asked_again(scene, 100)
        assert await asked_again(scene, LONGEST_REMEMBERED)
        assert not await asked_again(scene, LONGEST_REMEMBERED - 20)

    decided(tmp_path, policy, act, Unchanged())
