"""Whose right a request is decided by, from its beginning to its end: no later answer, run or namesake has more."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from corral.api.audit_sight import _Seen
from corral.api.identifying import Identifying
from corral.domain.audit import Actor, Entry, Note
from corral.domain.audit import Target as Told
from corral.domain.identity import PROVED, Identity
from corral.domain.policy import Caller, Decision, Question, Target
from corral.domain.records import Who
from corral.service.authority import Asking, Authority
from corral.supervise.registry import Registry
from tests.support.records import PERSON
from tests.unit.api.deciding import ME, People, Scripted, decided
from tests.unit.api.scene import Scene


def test_an_answer_that_names_nobody_is_asked_about_as_if_it_named_who_gets_it(tmp_path: Path) -> None:
    withdrawn = False
    policy = Scripted(lambda question: not withdrawn or question.on.team != "toys")

    async def act(scene: Scene) -> None:
        nonlocal withdrawn
        told = await scene.ask("POST", "/v1/messages?team=toys&agent=z", {"to": [f"@{ME}"], "text": "hello"})
        answer = {"to": [], "reply_to": told.json["message"], "text": "yes"}
        assert (await scene.ask("POST", "/v1/messages", answer)).status == 200
        assert "toys" in [on.team for on in policy.about("send_message")]
        withdrawn = True
        assert (await scene.ask("POST", "/v1/messages", answer)).status == 403
        missing = {**answer, "reply_to": "m4711"}
        assert (await scene.ask("POST", "/v1/messages", missing)).status == 404

    notes = decided(tmp_path, policy, act)
    assert [(note.on.team, note.allowed) for note in notes if note.verb == "send_message"][-2] == ("toys", False)


class _ByHeart:
    """Answers at once, so that what is decided about a request is remembered."""

    withdrawn = ""

    def known(self, question: Question) -> Decision:
        own = question.on.owner == question.who.user or not question.on.owner
        return Decision(allow=own and question.verb != self.withdrawn, rule="yes", reason="")

    async def decide(self, question: Question) -> Decision:
        return self.known(question)

    async def close(self) -> None:
        return None


class _Facts(People):
    def __init__(self) -> None:
        super().__init__()
        self.registry: Registry | None = None

    def stamp(self) -> int:
        return self.registry.version if self.registry is not None else 0


def test_what_an_agent_does_after_a_restart_is_told_of_its_new_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = _Facts()

    async def proved(*_: object) -> Identity:
        assert facts.registry is not None
        return Identity(kind=PROVED, agent="shop/a", run=facts.registry.agents["shop", "a"].run)

    monkeypatch.setattr(Identifying, "_identity", proved)

    async def act(scene: Scene) -> None:
        facts.registry = scene.registry
        for run in ("r1", "r2"):
            agent = replace(scene.registry.agents["shop", "a"], run=run)
            await scene.registry.commit(PERSON, agents=[agent])
            for _ in range(2):
                assert (await scene.ask("POST", "/v1/tasks?team=shop", {"title": "x"})).status == 200
                assert (await scene.ask("GET", "/v1/kv/list?team=shop")).status == 200

    notes = decided(tmp_path, _ByHeart(), act, facts)
    for verb in ("add_task", "list_values"):
        runs = [note.who.run for note in notes if note.verb == verb and note.outcome]
        assert runs == ["r1", "r1", "r2", "r2"]


@pytest.mark.parametrize(
    ("verb", "method", "target", "body", "then"),
    [
        ("list_changes", "GET", "/v1/kv/changes?team=shop&prefix=k&after=0&wait=60", None, None),
        ("read_topic", "GET", "/v1/topics?team=shop&topic=t&wait=60", None, None),
        ("list_inbox", "GET", "/v1/messages/inbox?wait=60", None, None),
        ("claim_task", "POST", "/v1/tasks/claim?team=shop", {"wait": 60}, ("/v1/tasks?team=shop", {"title": "secret"})),
    ],
)
def test_who_waits_for_something_and_may_not_any_more_does_not_get_it(
    tmp_path: Path, verb: str, method: str, target: str, body: object, then: tuple[str, object] | None
) -> None:
    withdrawn = False
    policy = Scripted(lambda question: not withdrawn or question.verb != verb)

    async def act(scene: Scene) -> None:
        nonlocal withdrawn
        waiting = asyncio.ensure_future(scene.ask(method, target, body))
        await policy.asked_about(verb)
        await asyncio.sleep(0.05)
        assert not waiting.done()
        withdrawn = True
        answer = await waiting
        assert answer.status == 403
        if then is not None:
            assert (await scene.ask("POST", *then)).status == 200
        if method == "POST":
            withdrawn = False
            assert (await scene.ask(method, target, {})).status == 200, "it was nobody's"

    notes = decided(tmp_path, policy, act)
    assert any(note.verb == verb and not note.allowed for note in notes)


@pytest.mark.parametrize(
    ("verb", "target"),
    [
        ("list_changes", "/v1/kv/changes?team=shop&prefix=k&after=0&%77ait=1.5"),
        ("read_topic", "/v1/topics?team=shop&topic=t&%77ait=1.5"),
    ],
)
def test_who_has_asked_for_the_same_before_waits_by_the_same_rule(tmp_path: Path, verb: str, target: str) -> None:
    policy = _ByHeart()

    async def act(scene: Scene) -> None:
        assert (await scene.ask("GET", target)).status == 200
        waiting = asyncio.ensure_future(scene.ask("GET", target))
        await asyncio.sleep(0.2)
        assert not waiting.done()
        policy.withdrawn = verb
        assert (await waiting).status == 403

    decided(tmp_path, policy, act, _Facts())


def test_who_has_the_name_of_somebody_who_left_does_not_read_what_they_did() -> None:
    class Facts(People):
        def caller(self, user: str) -> Caller | None:
            return Caller(user="bob", uid=2002, member=True, role="junior") if user == "bob" else None

        def target(self, team: str, agent: str) -> Target | None:
            return None

    def entry(uid: int) -> Entry:
        who = Actor(uid=uid, user="bob", member=True, role="owner")
        note = Note(time="t", who=who, verb="up", on=Told(), allowed=True)
        return Entry(number=1, note=note, previous="", hash="")

    own = Scripted(lambda question: question.on.owner == question.who.user)

    async def run() -> None:
        seen = _Seen(Asking(Authority(own, Facts()), Who(user="bob", uid=2002)))
        assert await asyncio.to_thread(seen.sees, entry(2002))
        assert not await asyncio.to_thread(seen.sees, entry(1001))

    asyncio.run(run())


def test_of_many_things_each_team_is_in_the_trail(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        fixes = [
            {"check": "c", "subject": "s", "message": "m", "fixed": True, "team": team, "agent": f"g{number}"}
            for number in range(30)
            for team in ("shop", "toys")
        ]
        assert (await scene.ask("POST", "/v1/doctor/fixes", {"fixes": fixes})).status == 200

    notes = decided(tmp_path, Scripted(lambda _: True), act)
    assert {note.on.team for note in notes if note.verb == "note_fixes"} >= {"shop", "toys"}
