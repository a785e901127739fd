"""`corral inbox`: what an agent asks becomes an entry, a person answers it once, and it goes with its cause."""

import json
import os
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.faults.support.population import kill_daemon
from tests.faults.support.teams import DEMO, await_event, events, last_seq, toml
from tests.support.at_the_keyboard import AtTheKeyboard
from tests.support.instance import Instance
from tests.support.merging import Merging
from tests.support.waiting import wait_for

#: Where the daemon can die while it answers.
ANSWERING = ("daemon.answer_written", "daemon.answer_pressed")


@pytest.fixture
def team(instance: Instance) -> Instance:
    instance.spec(toml({"a": {"command": DEMO}, "b": {"command": DEMO}}))
    instance.run("up")
    return instance


def ask(instance: Instance, *questions: str, agent: str = "a", then: str = "went") -> int:
    """Have an agent ask for permissions; the number of the entry for the first."""
    after = last_seq(instance)
    steps = [*(f"ask: {question}" for question in questions), f"say: {then}"]
    instance.run("send", agent, "\n".join(steps))
    return entry_after(instance, after, agent)


def entry_after(instance: Instance, after: int, agent: str, event: str = "inbox.opened") -> int:
    return int(await_event(instance, event, agent, after=after)["data"]["entry"])


def waiting(instance: Instance) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = instance.json("inbox")["entries"]
    return found


def shows(instance: Instance, text: str, agent: str = "a") -> None:
    wait_for(lambda: text in instance.run("logs", agent).stdout, 20, f"{agent} printed {text!r}")


def press_by_hand(instance: Instance, agent: str, *keys: str) -> None:
    """As somebody who is attached would."""
    socket = Path(instance.runtime, "tmux", "shop.sock")
    found = socket if socket.exists() else next(Path(instance.runtime, "tmux").iterdir())
    subprocess.run(["tmux", "-S", str(found), "send-keys", "-t", f"={agent}:", *keys], check=True, timeout=20)


def test_a_permission_becomes_an_entry_and_approve_lets_the_agent_go_on(team: Instance) -> None:
    number = ask(team, "may I remove the build?")
    (entry,) = waiting(team)
    assert (entry["entry"], entry["team"], entry["agent"]) == (number, "shop", "a")
    assert (entry["kind"], entry["state"], entry["by"]) == ("permission", "open", "")
    assert entry["what"] == "permission needed: may I remove the build?"
    assert entry["options"] == [{"option": 1, "text": "Yes"}, {"option": 2, "text": "No"}]
    assert entry["can"] == ["approve", "deny", "option"]
    listed = team.run("inbox").stdout
    assert "permission needed: may I remove the build?" in listed
    assert f"corral inbox approve {number}" in listed
    assert "choose> " in team.json("inbox", "show", str(number))["screen"][-1]
    answered = team.json("inbox", "approve", str(number))
    assert (answered["state"], answered["answer"], answered["outcome"]) == ("answered", "approve", "proved")
    shows(team, "went")
    assert waiting(team) == []
    assert [one["state"] for one in team.json("inbox", "--all")["entries"]] == ["answered"]
    given = [one for one in events(team) if one["event"] == "inbox.answered"]
    assert [(one["who"]["user"], one["data"]["answer"]) for one in given] == [(answered["by"], "approve")]
    # What the screen shows is nobody else's business.
    assert "remove the build" not in json.dumps(given)


def test_deny_and_an_option_press_what_they_say(team: Instance) -> None:
    team.run("inbox", "deny", str(ask(team, "may I?")))
    shows(team, "gave up: it was not permitted")
    second = ask(team, "may I now?")
    team.run("inbox", "answer", str(second), "1")
    shows(team, "went")
    third = ask(team, "and now?")
    code, error = team.error("inbox", "answer", str(third), "3")
    assert (code, "1 (Yes), 2 (No)" in error["remedy"]) == (2, True)
    assert team.error("inbox", "answer", str(third), "as", "you", "like")[0] == 4
    assert waiting(team)[0]["state"] == "open"


def test_the_next_question_is_another_entry(team: Instance) -> None:
    first = ask(team, "one?", "two?")
    after = last_seq(team)
    team.run("inbox", "approve", str(first))
    second = entry_after(team, after, "a")
    assert second == first + 1
    assert [one["what"] for one in waiting(team)] == ["permission needed: two?"]
    team.run("inbox", "approve", str(second))
    shows(team, "went")


def test_of_two_who_answer_at_once_one_is_refused(team: Instance) -> None:
    number = str(ask(team, "may I?"))
    codes: dict[str, int] = {}

    def answer(word: str) -> None:
        codes[word] = team.run("inbox", word, number, check=False).returncode

    both = [threading.Thread(target=answer, args=(word,)) for word in ("approve", "deny")]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert sorted(codes.values()) == [0, 4]
    won = next(word for word, code in codes.items() if code == 0)
    shows(team, "went" if won == "approve" else "gave up")
    assert team.json("inbox", "show", number)["answer"] == won
    assert team.run("inbox", "approve", number, check=False).returncode == 4


def test_what_was_answered_by_hand_is_gone_and_cannot_be_answered_again(team: Instance) -> None:
    number = str(ask(team, "may I?"))
    press_by_hand(team, "a", "2")
    code, error = team.error("inbox", "approve", number)
    assert (code, error["state"]) == (4, "gone")
    shows(team, "gave up")
    assert "answered: 1" not in team.run("logs", "a").stdout
    wait_for(lambda: not waiting(team), 20, "the entry goes with its cause")
    assert team.json("inbox", "show", number)["state"] == "gone"
    assert team.error("inbox", "claim", number)[0] == 4


def test_claim_snooze_and_numbers_that_nobody_gave_out(team: Instance) -> None:
    number = str(ask(team, "may I?"))
    claimed = team.json("inbox", "claim", number)
    assert (claimed["state"], claimed["until"] is not None) == ("claimed", True)
    snoozed = team.json("inbox", "snooze", number, "--for", "2h")
    assert snoozed["state"] == "snoozed"
    assert team.json("inbox")["waiting"] == 0
    assert "snoozed by" in team.run("inbox").stdout
    team.run("inbox", "approve", number)
    shows(team, "went")
    for words in (("show", "99"), ("claim", "99"), ("approve", "x"), ("answer", "99", "1"), ("snooze", "99")):
        assert team.error("inbox", *words)[0] == 3, words
    assert team.run("inbox", "answer", number, check=False).returncode == 2


def test_an_agent_cannot_answer_also_if_it_hides_who_it_is(team: Instance) -> None:
    number = str(ask(team, "may I?"))
    corral = team.argv("inbox", "approve", number)
    hidden = ["env", "-u", "CORRAL_AGENT", "-u", "CORRAL_TEAM", "-u", "CORRAL_INSTANCE", "-u", "CORRAL_RUN"]
    for words in (corral, [*hidden, *corral]):
        done = team.run("exec", "b", "--", *words, check=False)
        assert done.returncode == 4, done.stdout
        assert "shop/b" in done.stdout + done.stderr
    assert waiting(team)[0]["state"] == "open"


def test_nothing_is_pressed_while_somebody_types_there(team: Instance) -> None:
    number = str(ask(team, "may I?"))
    attach = team.argv("attach", "a")
    with AtTheKeyboard(attach, team.environment(), team.directory) as keyboard:
        keyboard.press("x")
        code, error = team.error("inbox", "approve", number)
        assert code == 4
        assert "has just pressed a key" in error["message"]
        assert waiting(team)[0]["state"] == "claimed"
    wait_for(lambda: team.run("inbox", "approve", number, check=False).returncode == 0, 20, "it is pressed then")
    shows(team, "went")


def test_a_killed_daemon_leaves_every_entry_once(team: Instance) -> None:
    number = ask(team, "may I?")
    team.run("inbox", "claim", str(number))
    kill_daemon(team)
    team.run("daemon", "start")
    wait_for(lambda: team.json("ps")[0]["activity"] == "waiting", 20, "it is seen again")
    (entry,) = waiting(team)
    assert (entry["entry"], entry["state"]) == (number, "claimed")
    team.run("inbox", "approve", str(number))
    shows(team, "went")
    assert len(team.json("inbox", "--all")["entries"]) == 1


@pytest.mark.parametrize(("step", "state"), [*zip(ANSWERING, ("claimed", "answered"), strict=True)])
def test_killed_while_it_answers(instance: Instance, own_directory: Path, step: str, state: str) -> None:
    once = own_directory / "once"
    deadly = {"CORRAL_FAILPOINT": f"{step}:{once}"}
    instance.spec(toml({"a": {"command": DEMO}}))
    instance.run("up", env=deadly)
    number = str(ask(instance, "may I?"))
    once.touch()
    assert instance.run("inbox", "approve", number, check=False).returncode == 6
    instance.run("daemon", "start")

    def settled() -> bool:
        return bool(instance.json("inbox", "show", number)["state"] == state)

    wait_for(settled, 20, f"it is {state}")
    if state == "claimed":
        instance.run("inbox", "approve", number)
    shows(instance, "went")
    assert instance.run("logs", "a").stdout.count("answered: 1") == 1


def test_an_agent_that_failed_waits_for_somebody_until_it_runs_again(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": DEMO}}))
    instance.run("up")
    after = last_seq(instance)
    instance.run("send", "a", "say: my last words\nexit: 3")
    number = str(entry_after(instance, after, "a"))
    (entry,) = waiting(instance)
    assert (entry["kind"], entry["can"]) == ("failed", [])
    assert "exit 3" in entry["what"]
    assert "corral restart shop/a" in entry["remedy"]
    code, error = instance.error("inbox", "approve", number)
    assert (code, "corral restart" in error["remedy"]) == (4, True)
    kill_daemon(instance)
    instance.run("daemon", "start")
    instance.run("restart", "a")
    wait_for(lambda: not waiting(instance), 20, "it goes with its cause")
    assert [one["entry"] for one in instance.json("inbox", "--all")["entries"]] == [int(number)]


def test_a_merge_conflict_waits_for_somebody_until_it_is_tried_again(instance: Instance, own_directory: Path) -> None:
    merging = Merging(instance, own_directory)
    merging.up()
    for agent in ("a", "b"):
        merging.commit(agent, **{"README.md": f"# Of {agent}\n"})
    merging.submit("--agent", "a")
    after = last_seq(instance)
    code, error = instance.error("merge", "submit", "--agent", "b", "--wait", "60s")
    assert code == 4
    entry_after(instance, after, "b")
    (entry,) = waiting(instance)
    assert (entry["kind"], entry["agent"], entry["lines"]) == ("conflict", "b", ["README.md"])
    assert error["merge"] in entry["what"]
    instance.run("merge", "cancel", error["merge"], check=False)
    kill_daemon(instance)
    instance.run("daemon", "start")
    wait_for(lambda: len(waiting(instance)) <= 1, 20, "it is not doubled")
    merging.commit("b", **{"README.md": "# Of a\n"})
    instance.run("merge", "retry", error["merge"], check=False)
    wait_for(lambda: not [one for one in waiting(instance) if error["merge"] in one["what"]], 30, "it is tried again")


def test_down_takes_the_entries_along(team: Instance) -> None:
    ask(team, "may I?")
    team.run("down")
    assert team.json("inbox")["entries"] == []


def test_ps_says_how_many_wait_and_watch_tells_of_changes(team: Instance) -> None:
    with team.follow("inbox", "--watch", "--json") as watch:
        assert json.loads(watch.line())["waiting"] == 0
        number = ask(team, "may I?")
        told = json.loads(watch.line())
        assert [one["entry"] for one in told["entries"]] == [number]
    terminal, ours = os.openpty()
    try:
        subprocess.run(team.argv("ps"), env=team.environment(), stdout=ours, check=True, timeout=60)
        assert b"1 agent waits for you: corral inbox" in os.read(terminal, 1 << 16)
    finally:
        os.close(terminal)
        os.close(ours)
    assert "waits for you" not in team.run("ps").stdout
