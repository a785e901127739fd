"""The inbox over HTTP: what is told, what is refused, and to whom."""

import asyncio
from dataclasses import replace
from pathlib import Path

from corral.domain import states
from corral.domain.activity import IDLE, WAITING, Activity
from corral.domain.dialogs import Choice, Dialog
from corral.domain.inbox_records import Cause
from corral.ports.dialogs import Pressed, ScreenSeen
from tests.support.records import AGENT
from tests.unit.api.scene import Scene, play
from tests.unit.service.fake_keeper import soon

DIALOG = Dialog(
    rule="permission",
    about="permission",
    line="May I?",
    lines=("May I?", "1. Yes", "2. No"),
    key="k",
    mark="m",
    choices=(Choice(1, "Yes"), Choice(2, "No")),
    approve=("y",),
    deny=("n",),
)
WAITS = Activity(word=WAITING, about="permission", evidence="screen: permission", since=1.0)


async def asks(scene: Scene) -> None:
    """Have an agent that runs ask for a permission."""
    scene.keeper.screen_seen = ScreenSeen(lines=["above", *DIALOG.lines], dialog=DIALOG)
    await scene.registry.observe([replace(AGENT, state=states.RUNNING, run="r1")], [])
    scene.registry.set_activity(AGENT.key, WAITS)
    await soon(lambda: scene.services.inbox.list())


def test_what_is_told_of_an_entry(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        assert (await scene.ask("GET", "/v1/inbox")).json == {"waiting": 0, "entries": []}
        await asks(scene)
        told = (await scene.ask("GET", "/v1/inbox?team=shop")).json
        assert told["waiting"] == 1
        (entry,) = told["entries"]
        assert entry == {
            "entry": 1,
            "team": "shop",
            "agent": "a",
            "kind": "permission",
            "state": "open",
            "since": "1970-01-01T00:00:00.000Z",
            "changed_at": "1970-01-01T00:00:00.000Z",
            "what": "May I?",
            "can": ["approve", "deny", "option"],
            "options": [{"option": 1, "text": "Yes"}, {"option": 2, "text": "No"}],
            "remedy": (
                "corral inbox answer 1 1; or corral inbox approve 1; or corral attach shop/a, and answer it there"
            ),
            "by": "",
            "until": None,
            "answer": "",
            "outcome": "",
            "lines": ["May I?", "1. Yes", "2. No"],
        }
        whole = (await scene.ask("GET", "/v1/inbox/1")).json
        assert whole == {**entry, "screen": ["above", "May I?", "1. Yes", "2. No"]}
        assert (await scene.ask("GET", "/v1/inbox?team=toys")).json["entries"] == []
        assert (await scene.ask("GET", "/v1/inbox?team=nobody")).status == 404
        assert (await scene.ask("GET", "/v1/inbox/2")).status == 404
        assert (await scene.ask("GET", "/v1/inbox/x")).status == 404

    play(tmp_path, act)


def test_an_answer_presses_the_keys_into_the_dialog_that_was_seen(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await asks(scene)
        scene.keeper.pressed = Pressed(outcome="gone")
        reply = await scene.ask("POST", "/v1/inbox/1/answer", {"say": "approve"})
        assert (reply.status, reply.json["state"], reply.json["outcome"]) == (200, "answered", "proved")
        assert ("press", {"run": "r1", "keys": ["y"], "mark": "m"}) in scene.keeper.asked
        again = await scene.ask("POST", "/v1/inbox/1/answer", {"option": 2})
        assert (again.status, again.error["state"]) == (409, "answered")
        names = [event for event, _, _ in await scene.journal() if event.startswith("inbox.")]
        assert names[:3] == ["inbox.opened", "inbox.answering", "inbox.answered"]

    play(tmp_path, act)


def test_an_answer_that_did_not_take_is_refused_with_what_is_there_now(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await asks(scene)
        for outcome, state in (("busy", "claimed"), ("still", "claimed")):
            scene.keeper.pressed = Pressed(outcome=outcome, why="so it is", seen=ScreenSeen(lines=["x"]))  # type: ignore[arg-type]
            reply = await scene.ask("POST", "/v1/inbox/1/answer", {"option": 1})
            assert (reply.status, reply.error["lines"]) == (409, ["x"])
            assert "so it is" in reply.error["message"]
            assert (await scene.ask("GET", "/v1/inbox/1")).json["state"] == state
        scene.keeper.screen_seen = ScreenSeen(lines=["y"])
        scene.keeper.pressed = Pressed(outcome="changed", why="gone by now", seen=ScreenSeen(lines=["y"]))
        reply = await scene.ask("POST", "/v1/inbox/1/answer", {"say": "deny"})
        assert (reply.status, reply.error["state"], reply.error["lines"]) == (409, "gone", ["y"])
        assert (await scene.ask("GET", "/v1/inbox/1")).json["state"] == "gone"

    play(tmp_path, act)


def test_of_many_who_answer_one_is_heard(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await asks(scene)
        scene.keeper.pressed = Pressed(outcome="gone")
        replies = await asyncio.gather(
            *(scene.ask("POST", "/v1/inbox/1/answer", {"option": 1 + number % 2}) for number in range(10))
        )
        assert sorted(reply.status for reply in replies) == [200, *[409] * 9]
        assert sum(verb == "press" for verb, _ in scene.keeper.asked) == 1

    play(tmp_path, act)


def test_wrong_answers_press_nothing(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await asks(scene)
        wrong: list[tuple[dict[str, object], int]] = [
            ({}, 400),
            ({"say": "maybe"}, 400),
            ({"option": 1, "text": "x"}, 400),
            ({"option": 3}, 400),
            ({"text": "x"}, 409),
        ]
        for body, status in wrong:
            assert (await scene.ask("POST", "/v1/inbox/1/answer", body)).status == status, body
        for seconds in (0, -1, 1e12):
            assert (await scene.ask("POST", "/v1/inbox/1/snooze", {"seconds": seconds})).status == 400
        assert not [verb for verb, _ in scene.keeper.asked if verb == "press"]
        assert (await scene.ask("GET", "/v1/inbox/1")).json["state"] == "open"

    play(tmp_path, act)


def test_a_process_of_an_agent_is_refused_whatever_it_says(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await asks(scene)
        scene.keeper.agent_asking = "shop/b"
        for verb, body in [("answer", {"option": 1}), ("claim", {}), ("snooze", {"seconds": 60})]:
            reply = await scene.ask("POST", f"/v1/inbox/1/{verb}", body)
            assert (reply.status, "shop/b" in reply.error["message"]) == (409, True), verb
        assert (await scene.ask("GET", "/v1/inbox/1")).json["state"] == "open"

    play(tmp_path, act)


def test_an_entry_goes_with_its_cause_and_stays_while_nobody_can_tell(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await asks(scene)
        scene.registry.forget_activity(AGENT.key)
        await asyncio.sleep(0.05)
        assert (await scene.ask("GET", "/v1/inbox/1")).json["state"] == "open"
        scene.registry.set_activity(AGENT.key, Activity(word=IDLE, evidence="hook Stop"))
        await soon(lambda: scene.services.inbox.show(1).state == "gone")
        # A screen that flickered: the same entry.
        scene.registry.set_activity(AGENT.key, WAITS)
        await soon(lambda: scene.services.inbox.show(1).state == "open")
        assert len((await scene.ask("GET", "/v1/inbox?all=1")).json["entries"]) == 1

    play(tmp_path, act)


def test_a_question_that_is_drawn_late_keeps_its_number_and_is_answered_as_it_is_then(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        told = Activity(word=WAITING, about="permission", evidence="hook PermissionRequest", since=1.0)
        await scene.registry.observe([replace(AGENT, state=states.RUNNING, run="r1")], [])
        scene.keeper.screen_seen = ScreenSeen(lines=["thinking"])
        scene.registry.set_activity(AGENT.key, told)
        await soon(lambda: scene.services.inbox.list())
        refused = await scene.ask("POST", "/v1/inbox/1/answer", {"say": "approve"})
        assert (refused.status, "nobody knows which key" in refused.error["message"]) == (409, True)

        # Nobody has told the daemon that it is drawn, so nobody can have read it.
        scene.keeper.screen_seen = ScreenSeen(lines=[*DIALOG.lines], dialog=DIALOG)
        unread = await scene.ask("POST", "/v1/inbox/1/answer", {"option": 2})
        assert (unread.status, "nobody has read it yet" in unread.error["message"]) == (409, True)
        assert not [asked for asked in scene.keeper.asked if asked[0] == "press"]
        answered = await scene.ask("POST", "/v1/inbox/1/answer", {"option": 2})
        assert (answered.status, answered.json["what"]) == (200, "May I?")
        assert ("press", {"run": "r1", "keys": ["2"], "mark": "m"}) in scene.keeper.asked
        assert len((await scene.ask("GET", "/v1/inbox?all=1")).json["entries"]) == 1

    play(tmp_path, act)


def test_another_question_than_the_one_that_an_entry_shows_is_not_answered_by_it(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await asks(scene)
        other = replace(DIALOG, key="k2", mark="m2", line="May I remove everything?")
        scene.keeper.screen_seen = ScreenSeen(lines=[*DIALOG.lines], dialog=other)
        scene.keeper.pressed = Pressed(outcome="changed", why="something else is there", seen=scene.keeper.screen_seen)
        refused = await scene.ask("POST", "/v1/inbox/1/answer", {"say": "approve"})
        assert (refused.status, refused.error["state"]) == (409, "gone")
        assert ("press", {"run": "r1", "keys": ["y"], "mark": "m"}) in scene.keeper.asked
        await soon(lambda: [entry.number for entry in scene.services.inbox.list()] == [2])

    play(tmp_path, act)


def test_a_question_takes_words_which_are_sent(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await scene.registry.observe([replace(AGENT, state=states.RUNNING, run="r1")], [])
        question = Cause(team="shop", agent="a", kind="question", key="q", what="Which?", run="r1", text=True)
        await scene.services.inbox.came(question)
        assert (await scene.ask("GET", "/v1/inbox/1")).json["can"] == ["text"]
        assert (await scene.ask("POST", "/v1/inbox/1/answer", {"option": 1})).status == 409

    play(tmp_path, act)
