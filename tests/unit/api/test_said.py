"""What the audit trail has of a request besides whom it is about: which one, and how; and nothing of what it brings."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import cast

import pytest
from starlette.requests import Request
from starlette.responses import Response

from corral.adapters.audit.writer import TrailWriter
from corral.api import requests
from corral.api.auditing import acts
from corral.api.identifying import Identifying
from corral.api.openapi_table import ENDPOINTS
from corral.api.router import Handler
from corral.domain.audit import Actor, Note, Target
from corral.domain.audit_detail import NOT_KEPT
from corral.domain.audit_filter import Wanted
from corral.domain.audit_terms import AuditTerms
from corral.domain.identity import REFUSED, Identity
from corral.domain.policy import Question, asked_as
from corral.domain.records import Who
from corral.service.audit import Audit, Decision
from corral.service.authority import SEES, Authority
from corral.service.callers import Callers
from corral.service.refusals import Refusals
from tests.support.audit import note
from tests.unit.api.deciding import ME, People, Scripted, decided
from tests.unit.api.plausible import plausible
from tests.unit.api.scene import Scene, served
from tests.unit.service.fake_keeper import prints, runs

#: What each request says in the trail, whether it is allowed or not.
SAID: tuple[tuple[str, str, object, dict[str, object]], ...] = (
    (
        "PUT",
        "/v1/members/ben",
        {"role": "senior", "teams": ["shop", "toys"]},
        {"user": "ben", "role": "senior", "teams": "shop, toys"},
    ),
    ("PUT", "/v1/members/ben", {"teams": []}, {"user": "ben", "teams": ""}),
    (
        "PUT",
        "/v1/members/ben-bot",
        {"role": "agent", "of": "ben", "dry_run": True},
        {"user": "ben-bot", "role": "agent", "of": "ben", "dry_run": True},
    ),
    ("DELETE", "/v1/members/ben?force=1", None, {"user": "ben", "force": "1"}),
    (
        "POST",
        "/v1/tokens",
        {"user": "ben", "note": "a laptop", "expires": 31536000},
        {"user": "ben", "expires": 31536000},
    ),
    ("DELETE", "/v1/tokens/3f9a6c01d2e4", None, {"id": "3f9a6c01d2e4"}),
    ("GET", "/v1/tokens?user=ben", None, {"user": "ben"}),
    ("POST", "/v1/sessions?agent=a&mode=observe", None, {"mode": "observe"}),
    ("POST", "/v1/sessions?agent=a&mode=moderate", None, {"mode": "moderate"}),
    ("GET", "/v1/attach?agent=a&read_only=1", None, {"mode": "observe"}),
    ("GET", "/v1/attach?agent=a", None, {"mode": "drive"}),
    (
        "POST",
        "/v1/sessions/steer",
        {"agent": "a", "action": "handover", "person": "ben"},
        {"action": "handover", "person": "ben"},
    ),
    ("POST", "/v1/stop", {"agents": ["a"], "grace": 0}, {"agents": "a", "grace": 0}),
    ("POST", "/v1/restart", {"agents": ["a", "b"], "fresh": True}, {"agents": "a, b", "fresh": True}),
    (
        "POST",
        "/v1/rm",
        {"agents": ["a"], "discard": True, "force": True},
        {"agents": "a", "discard": True, "force": True},
    ),
    ("POST", "/v1/pause", {"team": "shop", "all": True}, {"all": True}),
    ("POST", "/v1/down", {"team": "shop", "discard": True}, {"discard": True}),
    (
        "POST",
        "/v1/up",
        {"file": "/x/corral.toml", "text": "[team]\nname='shop'", "environment": {"A": "b"}, "agents": ["a"]},
        {"file": "/x/corral.toml", "agents": "a"},
    ),
    ("POST", "/v1/fork", {"agent": "a", "name": "c", "prompt": "do it"}, {"name": "c"}),
    ("POST", "/v1/locks?team=shop", {"name": "build"}, {"name": "build"}),
    (
        "POST",
        "/v1/leases?team=shop",
        {"patterns": ["src/", "*.md"], "shared": True},
        {"patterns": "src/, *.md", "shared": True},
    ),
    ("POST", "/v1/leases/l1/release?team=shop", {}, {"lease": "l1"}),
    ("POST", "/v1/leases/l1/renew?team=shop", {"token": 7}, {"lease": "l1"}),
    ("POST", "/v1/kv?team=shop", {"puts": {"k": "v"}, "drops": ["old"]}, {"puts": "k", "drops": "old"}),
    ("GET", "/v1/kv?team=shop&key=k", None, {}),
    ("POST", "/v1/topics?team=shop&topic=t", b"hello", {"topic": "t"}),
    ("POST", "/v1/tasks/t1/fail?team=shop", {"token": 1, "note": "why", "final": True}, {"task": "t1", "final": True}),
    ("POST", "/v1/tasks/t1/done?team=shop", {"token": 1, "result": "x"}, {"task": "t1"}),
    ("DELETE", "/v1/tasks/t1?team=shop&force=1", None, {"task": "t1", "force": "1"}),
    ("POST", "/v1/merges?team=shop", {"branch": "feature"}, {"branch": "feature"}),
    ("POST", "/v1/merges/m1/cancel?team=shop", None, {"merge": "m1"}),
    ("POST", "/v1/ports?agent=a&name=web", None, {"name": "web"}),
    ("POST", "/v1/inbox/1/answer", {"say": "deny"}, {"entry": "1", "answer": "deny"}),
    ("POST", "/v1/inbox/1/answer", {"option": 2}, {"entry": "1", "answer": "option 2"}),
    ("POST", "/v1/inbox/1/answer", {"text": "no, wait"}, {"entry": "1", "answer": "words"}),
    ("POST", "/v1/inbox/1/snooze", {"seconds": 60}, {"entry": "1", "seconds": 60}),
    ("POST", "/v1/messages?team=shop", {"to": ["a", "@ann"], "text": "hello"}, {"to": "a, @ann"}),
    ("POST", "/v1/messages/m4/ack", {"note": "done"}, {"message": "m4"}),
    ("POST", "/v1/send?agent=a&force=1", b"hello", {"force": "1"}),
    ("POST", "/v1/broadcast?team=shop&role=reviewers", b"hello", {"role": "reviewers"}),
    ("POST", "/v1/processes/p1/signal?signal=INT", None, {"process": "p1", "signal": "INT"}),
    ("POST", "/v1/processes/p1/kill?grace=0", None, {"process": "p1", "grace": "0"}),
    ("GET", "/v1/recordings/r1?agent=a", None, {"recording": "r1"}),
    ("GET", "/v1/policy/check?verb=send&who=ben&on=shop/a", None, {"verb": "send", "who": "ben", "on": "shop/a"}),
    ("POST", "/v1/hooks/claude?event=Stop&team=shop&agent=a", b"{}", {"program": "claude", "event": "Stop"}),
    (
        "POST",
        "/v1/hooks/claude/register",
        {"directory": "/x", "remove": True},
        {"program": "claude", "directory": "/x", "remove": True},
    ),
    (
        "POST",
        "/v1/doctor/fixes",
        {"fixes": [{"check": "orphans", "subject": "s", "message": "m", "fixed": True}]},
        {"checks": "orphans"},
    ),
)
#: What some of them bring, and the trail must not have.
BROUGHT = ("laptop", "hello", "do it", "why", "wait", "[team]", '"b"')
#: Nothing but whom it is about is said by these: what they bring is contents, and what they make is in their outcome.
SILENT = {"add_task", "check_many_leases", "check_writes", "claim_task", "execute", "stop_daemon"}
#: These say no more if they are plain.
PLAIN = {"broadcast", "down", "get_port", "send", "submit_merge", "token_add"}


def alone(directory: Path, act: Callable[[Scene], Awaitable[None]]) -> list[Note]:
    """Do something with the daemon of one person that keeps a trail; what is in it then."""
    notes: list[Note] = []

    async def run() -> None:
        terms = AuditTerms(enabled=True)
        audit = Audit(await TrailWriter.open(str(directory / "audit"), terms, lambda: 0.0, {}), terms, lambda: 0.0)
        async with served(directory, str(directory / "d.sock"), None, audit) as scene:
            await asyncio.wait_for(act(scene), 60)
            notes.extend([entry.note async for entry in audit.read(Wanted(), lambda _: True)])
        await audit.close()

    asyncio.run(run())
    return [note for note in notes if not note.verb.startswith("audit.")]


def first_of_each(notes: list[Note]) -> list[Note]:
    """The decision about each request."""
    return list({note.trace: note for note in reversed(notes)}.values())[::-1]


def without_error(note: Note) -> Mapping[str, object]:
    return {name: fact for name, fact in note.detail.items() if name not in ("error", "ended")}


def sees_alone(question: Question) -> bool:
    """Everybody knows of everything, and may do nothing."""
    return question.verb == SEES


def test_what_is_denied_says_on_what_and_how(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        for method, target, body, _ in SAID:
            assert (await scene.ask(method, target, body)).status in (403, 404), target

    notes = first_of_each(decided(tmp_path, Scripted(sees_alone), act))
    assert {note.allowed for note in notes} == {False}
    assert [(target, without_error(note)) for (_, target, _, _), note in zip(SAID, notes, strict=True)] == [
        (target, facts) for _, target, _, facts in SAID
    ]
    assert not [word for word in BROUGHT if word in str(notes)]


def test_so_it_does_in_the_instance_of_one_person(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        for method, target, body, _ in SAID:
            if "/sessions?" not in target:  # the answer would be a terminal
                await scene.ask(method, target, body)

    asked = [one for one in SAID if "/sessions?" not in one[1]]
    notes = first_of_each(alone(tmp_path, act))
    assert [(target, without_error(note)) for (_, target, _, _), note in zip(asked, notes, strict=True)] == [
        (target, facts) for _, target, _, facts in asked
    ]
    assert not [word for word in BROUGHT if word in str(notes)]


def test_what_is_allowed_says_it_in_the_decision_as_its_handler_reads_it(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        assert (await scene.ask("POST", "/v1/locks", {"name": "build"}, agent="shop/a")).status == 200
        assert (await scene.ask("POST", "/v1/pause", {"agents": ["a", "a"]})).status == 200
        assert (await scene.ask("POST", "/v1/kv?team=shop", {"puts": {"k": "v"}})).status == 200
        assert (await scene.ask("GET", "/v1/kv?team=shop&key=k")).status == 200
        assert (await scene.ask("GET", "/v1/kv?team=shop&key=k2")).status == 404

    notes = decided(tmp_path, Scripted(lambda _: True), act)
    decisions = [(note.verb, note.outcome, dict(note.detail)) for note in first_of_each(notes)]
    assert decisions == [
        ("take_lock", "", {"name": "build"}),
        ("pause", "", {"agents": "a"}),
        ("change_values", "", {"puts": "k"}),
        ("get_value", "200", {}),
        ("get_value", "404", {"error": "not_found"}),
    ]


def test_the_outcome_names_what_was_made(tmp_path: Path) -> None:
    """So that who reads the trail knows what a later request means that names it."""
    answers: list[dict[str, object]] = []

    async def act(scene: Scene) -> None:
        for target, body in (
            ("/v1/locks?team=shop", {"name": "build"}),
            ("/v1/tasks?team=shop", {"title": "tidy up"}),
            ("/v1/tasks/claim?team=shop&agent=a", {}),
            ("/v1/messages?team=shop", {"to": ["a"], "text": "hello"}),
            ("/v1/exec?agent=a", {"argv": ["true"]}),
        ):
            reply = await scene.ask("POST", target, body)
            assert reply.status == 200, reply.body
            answers.append(reply.json)

    notes = decided(tmp_path, Scripted(lambda _: True), act)
    lock, added, claimed, message, process = answers
    assert {note.verb: dict(note.detail) for note in notes if note.outcome} == {
        "take_lock": {"lease": lock["lease"]},
        "add_task": {"task": added["task"], "added": True},
        "claim_task": {"task": claimed["task"], "attempt": 1},
        "send_message": {"message": message["message"]},
        "execute": {"process": process["process_id"], "exit_code": 0},
    }
    assert "tidy up" not in str(notes)


@pytest.mark.parametrize(
    ("path", "body", "on"),
    [
        ("/v1/down", {"team": "gone"}, Target(kind="team", team="gone")),
        ("/v1/stop", {"team": "shop", "agents": ["nobody"]}, Target(kind="team", team="shop")),
        (
            "/v1/sessions/steer",
            {"agent": "shop/nobody", "action": "end"},
            Target(kind="agent", team="shop", agent="nobody"),
        ),
    ],
)
def test_the_body_says_on_what_where_nobody_decides(tmp_path: Path, path: str, body: object, on: Target) -> None:
    async def act(scene: Scene) -> None:
        await scene.ask("POST", path, body)

    assert {note.on for note in alone(tmp_path, act)} == {on}


def test_a_body_that_cannot_be_read_is_told_of_as_before(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        assert (await scene.ask("POST", "/v1/locks?team=shop", b"{")).status == 400
        reader, writer = await asyncio.open_unix_connection(scene.socket)
        writer.write(b"POST /v1/locks?team=shop HTTP/1.1\r\nHost: c\r\nContent-Length: 100000000\r\n\r\n")
        assert b" 400 " in await reader.readline()
        writer.close()

    notes = alone(tmp_path, act)
    assert [(note.verb, note.outcome, dict(note.detail)) for note in notes] == 2 * [
        ("take_lock", "", {}),
        ("take_lock", "400", {"error": "wrong_use"}),
    ]


def test_a_denial_does_not_wait_for_a_body_that_does_not_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corral.api.authorising._DENIED_SECONDS", 0.05)

    async def act(scene: Scene) -> None:
        reader, writer = await asyncio.open_unix_connection(scene.socket)
        writer.write(b"POST /v1/leases?team=shop HTTP/1.1\r\nHost: c\r\nContent-Length: 17\r\n\r\n{")
        assert b" 403 " in await reader.readline()
        writer.close()

    (note,) = decided(tmp_path, Scripted(sees_alone), act)
    assert (note.outcome, note.detail) == ("403", {"error": "denied"})


def test_who_is_not_believed_says_what_they_wanted_as_well_and_is_the_member_that_they_are() -> None:
    told: list[Mapping[str, object]] = []
    whose: list[Actor] = []

    class Refusing:
        async def identify(self, *_: object, **__: object) -> Identity:
            return Identity(kind=REFUSED, why="with a credential of somebody else")

        def refused(self, *_: object) -> None:
            return None

    class Trail:
        async def decided(self, who: Actor, *_: object, detail: Mapping[str, object], **__: object) -> Decision:
            told.append(detail)
            whose.append(who)
            return Decision(note=note(1, trace="0123"))

    async def handler(_: Request) -> Response:
        raise AssertionError("nobody gets here")

    me = Who(user=ME, uid=os.getuid())
    who = {requests.CALLER: me, requests.CONNECTION: None, requests.CONNECTED: 0.0}
    scope = {"type": "http", "query_string": b"dry_run=1", "headers": [], "state": who, "client": ("", 7)}
    authority = Authority(Scripted(lambda _: False), People("senior"))
    identifying = Identifying(cast("Callers", Refusing()), Refusals(cast("Audit", Trail())), None, authority)
    request = Request({**scope, "path_params": {"user": "ben"}})
    answer = asyncio.run(_run(identifying("member_rm", handler), request))
    assert (answer.status_code, answer.headers["x-corral-trace"]) == (409, "0123")
    assert whose == [Actor(uid=me.uid, user=me.user, member=True, role="senior")]
    assert told == [{"why": "with a credential of somebody else", "user": "ben", "dry_run": "1"}]


async def _run(handler: Handler, request: Request) -> Response:
    return await handler(request)


def test_every_request_that_acts_says_something_or_has_nothing_to_say(tmp_path: Path) -> None:
    """One that is added next year is to be thought about here as well."""
    acting = [endpoint for endpoint in ENDPOINTS if acts(endpoint)]

    async def act(scene: Scene) -> None:
        for endpoint in acting:
            target, body = plausible(endpoint)
            await scene.ask(endpoint.method, target, body)

    notes = decided(tmp_path, Scripted(sees_alone), act)
    assert {note.verb for note in notes if not without_error(note)} == SILENT | PLAIN
    assert {note.verb for note in notes} == {asked_as(endpoint.handler) for endpoint in acting}
    assert not [note for note in notes if NOT_KEPT in note.detail.values()]


def test_a_command_that_was_waited_for_has_its_exit_code_and_one_that_goes_on_says_so(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        scene.keeper.at_start = prints(b"hello\n", 7)
        await scene.exec(argv=["x"], process_id="p0000000001")
        scene.keeper.at_start = runs
        await scene.exec(argv=["x"], process_id="p0000000002", timeout=0.05)
        await scene.exec(argv=["x"], process_id="p0000000003", background=True)

    done = [dict(note.detail) for note in alone(tmp_path, act) if note.outcome == "200"]
    assert done == [
        {"process": "p0000000001", "exit_code": 7},
        {"process": "p0000000002", "timed_out": True},
        {"process": "p0000000003"},
    ]


def test_in_the_instance_of_one_person_an_entry_names_what_was_meant(tmp_path: Path) -> None:
    new = '[team]\nname = "new"\n[agents.x]\ncommand = ["cat"]\nworkspace = "shared"\n'
    asked: tuple[tuple[str, object, list[tuple[str, str, str]]], ...] = (
        ("/v1/exec?agent=a", {"argv": ["true"]}, [("agent", "shop", "a")]),
        ("/v1/pause", {"agents": ["b"]}, [("agent", "shop", "b")]),
        ("/v1/pause", {"all": True, "cwd": "/y"}, [("agent", "toys", "z")]),
        ("/v1/pause", {"all": True, "team": "shop"}, [("agent", "shop", "a"), ("agent", "shop", "b")]),
        ("/v1/kv?cwd=/y", {"puts": {"k": "v"}}, [("team", "toys", "")]),
        ("/v1/up", {"text": new, "file": "/n/corral.toml", "dry_run": True}, [("team", "new", "")]),
        # What means nothing is told as it was said.
        ("/v1/pause", {"agents": ["nobody"], "team": "shop"}, [("team", "shop", "")]),
        ("/v1/kv", {"puts": {"k": "v"}}, [("host", "", "")]),
    )

    async def act(scene: Scene) -> None:
        for path, body, _ in asked:
            await scene.ask("POST", path, body)

    decisions: dict[str, list[tuple[str, str, str]]] = {}
    for entry in alone(tmp_path, act):
        if not entry.outcome:
            assert entry.rule == "socket"
            decisions.setdefault(entry.trace, []).append((entry.on.kind, entry.on.team, entry.on.agent))
    assert list(decisions.values()) == [on for _, _, on in asked]
