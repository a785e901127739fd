"""Every answer says under which trace id the request is in the audit trail: also one that failed, or was refused."""

from pathlib import Path

import pytest

from corral.api.kv_routes import KvApi
from corral.domain.audit import Note
from corral.domain.policy import Question
from tests.unit.api.deciding import Scripted, decided
from tests.unit.api.scene import Scene

_ASKED = {
    "list_agents": ("GET", "/v1/agents", None, [200]),
    "list_values": ("GET", "/v1/kv/list?team=nobody", None, [404]),
    "change_values": ("POST", "/v1/kv?team=nobody", {"puts": {"a": 1}}, [400, 404]),
    "add_task": ("POST", "/v1/tasks?team=shop", {"no such field": 1}, [400]),
    "unknown": ("GET", "/v1/nothing", None, [404]),
}


@pytest.mark.parametrize("shared", [False, True])
def test_an_answer_that_failed_names_its_entries_as_well(shared: bool, tmp_path: Path) -> None:
    traces: dict[str, str] = {}

    async def act(scene: Scene) -> None:
        for verb, (method, target, body, statuses) in _ASKED.items():
            reply = await scene.ask(method, target, body)
            traces[verb] = reply.trace
            assert (verb, reply.status in statuses) == (verb, True)

    notes = decided(tmp_path, Scripted(lambda _: True) if shared else None, act)
    assert _verbs(notes, traces) == {verb: {verb} for verb in _ASKED}


def test_an_answer_that_says_no_names_the_denial(tmp_path: Path) -> None:
    traces: dict[str, str] = {}

    def allows(question: Question) -> bool:
        return question.verb not in ("list_values", "change_values")

    async def act(scene: Scene) -> None:
        for verb, method, body in (("list_values", "GET", None), ("change_values", "POST", {"puts": {"a": 1}})):
            target = "/v1/kv/list?team=shop" if method == "GET" else "/v1/kv?team=shop"
            reply = await scene.ask(method, target, body)
            traces[verb] = reply.trace
            assert reply.status == 403

    notes = decided(tmp_path, Scripted(allows), act)
    assert _verbs(notes, traces) == {"list_values": {"list_values"}, "change_values": {"change_values"}}
    assert {note.allowed for note in notes} == {False}


def test_what_nobody_foresaw_names_its_entries_and_is_in_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object) -> None:
        raise ValueError("token=hunter2")

    monkeypatch.setattr(KvApi, "list_values", broken)
    traces: dict[str, str] = {}

    async def act(scene: Scene) -> None:
        reply = await scene.ask("GET", "/v1/kv/list?team=shop")
        traces["list_values"] = reply.trace
        assert (reply.status, b"hunter2" in reply.body) == (500, False)

    assert _verbs(decided(tmp_path, None, act), traces) == {"list_values": {"list_values"}}
    assert [record.getMessage() for record in caplog.records if record.exc_info] == ["list_values failed"]


def _verbs(notes: list[Note], traces: dict[str, str]) -> dict[str, set[str]]:
    """For each answer, what was asked according to the entries that it names."""
    return {verb: {note.verb for note in notes if note.trace == trace} for verb, trace in traces.items()}
