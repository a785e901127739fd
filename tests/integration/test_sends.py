"""Messages into real terminals: what they wait for, what receipts say, and what becomes of a person's own words."""

import contextlib
import json
import shlex
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.faults.support.teams import ps
from tests.support.at_the_keyboard import AtTheKeyboard
from tests.support.instance import Instance
from tests.support.waiting import wait_for

pytestmark = pytest.mark.tmux

DEMO_WORDS = [sys.executable, "-m", "corral", "demo-agent"]
DEMO = json.dumps(DEMO_WORDS)
TEAM = f"""
[team]
name = "shop"
[agents.a]
command = {DEMO}
workspace = "shared"
"""


@pytest.fixture
def shop(instance: Instance) -> Instance:
    instance.spec(TEAM)
    instance.run("up")
    return instance


def at(instance: Instance, agent: str = "a") -> AtTheKeyboard:
    """A person at an agent's terminal."""
    return AtTheKeyboard(instance.argv("attach", agent), instance.environment(), instance.directory)


def queued(instance: Instance, text: str, agent: str = "a") -> str:
    """The id of a message that was put in line."""
    return str(instance.json("send", "--wait", "queued", agent, text)["message"])


def receipt(instance: Instance, message: str) -> dict[str, Any]:
    found: dict[str, Any] = instance.json("send", "--status", message)
    return found


def waits_for(instance: Instance, message: str, reason: str) -> None:
    wait_for(lambda: reason in receipt(instance, message)["reason"], 20, f"it waits because {reason}")
    assert receipt(instance, message)["state"] == "queued"


def arrives(instance: Instance, message: str) -> None:
    instance.run("send", "--status", message, "--wait", "observed", "--timeout", "30")


def screen(instance: Instance, agent: str = "a") -> str:
    return instance.run("logs", "--screen", agent).stdout


def test_a_message_is_observed_and_its_receipt_is_kept(shop: Instance) -> None:
    sent = shop.json("send", "--wait", "observed", "a", "say: hello")
    assert sent == {
        "team": "shop", "agent": "a", "message": sent["message"], "state": "observed", "bytes": 10, "reason": ""
    }  # fmt: skip
    shop.run("daemon", "stop")
    shop.run("daemon", "start")
    assert receipt(shop, sent["message"]) == sent
    assert shop.error("send", "--status", "nobody")[0] == 3


def test_no_text_is_in_the_journal_and_none_is_kept_once_it_arrived(shop: Instance) -> None:
    shop.run("send", "--wait", "observed", "a", "say: topsecretwords")
    assert "topsecretwords" not in shop.run("events", "--json", "-n", "all").stdout
    shop.run("daemon", "stop")  # it shares its store with nobody
    with contextlib.closing(sqlite3.connect(f"file:{shop.home}/corral.db?mode=ro", uri=True)) as store:
        kept = [bytes(value) for (value,) in store.execute("SELECT value FROM records WHERE kind LIKE 'send%'")]
    shop.run("daemon", "start")
    assert kept
    assert not [value for value in kept if b"topsecretwords" in value]


def test_a_draft_of_a_person_is_neither_sent_nor_lost(shop: Instance) -> None:
    with at(shop) as person:
        person.type("say: mine")
        message = queued(shop, "say: theirs")
        waits_for(shop, message, "somebody is writing there")
        # However long it takes.
        assert receipt(shop, message)["state"] == "queued"
        assert "demo> say: mine" in screen(shop)
        person.press("\r")
        arrives(shop, message)
    said = screen(shop).splitlines()
    assert said.index("mine") < said.index("theirs")


def test_who_has_just_typed_is_left_in_peace(shop: Instance) -> None:
    with at(shop) as person:
        person.type("say: mine\r")
        began = time.monotonic()
        message = queued(shop, "say: theirs")
        waits_for(shop, message, "somebody has just typed there")
        arrives(shop, message)
        assert time.monotonic() - began > 1  # tmux counts whole seconds


def read_back(instance: Instance, person: AtTheKeyboard) -> None:
    """Have a person begin to read back, in copy mode."""
    tmux = ["tmux", "-N", "-S", f"{instance.runtime}/tmux/shop.sock"]
    asking = [*tmux, "display-message", "-p", "-t", "=a:", "#{pane_in_mode}"]

    def reads() -> bool:
        return subprocess.run(asking, capture_output=True, text=True, check=True).stdout.strip() == "1"

    wait_for(lambda: _is_attached(tmux), 20, "the client is attached")
    person.press("\x02")
    person.press("[")
    wait_for(reads, 20, "the pane is in copy mode")


def _is_attached(tmux: list[str]) -> bool:
    asking = [*tmux, "list-clients", "-t", "=a", "-F", "#{client_height} #{client_flags}"]
    return "attached" in subprocess.run(asking, capture_output=True, text=True, check=True).stdout


def test_copy_mode_of_somebody_who_reads_is_not_left(shop: Instance) -> None:
    with at(shop) as person:
        read_back(shop, person)
        message = queued(shop, "say: later")
        waits_for(shop, message, "copy mode")
        time.sleep(3.5)  # longer than typing counts: it is the reading that counts
        waits_for(shop, message, "copy mode")
        person.press("q")
        arrives(shop, message)


def test_copy_mode_that_nobody_reads_in_is_left(shop: Instance) -> None:
    with at(shop) as person:
        read_back(shop, person)
    arrives(shop, queued(shop, "say: hello"))


def test_it_waits_until_the_agent_can_take_it_and_others_wait_behind(shop: Instance) -> None:
    shop.run("send", "a", "wait: 3\nsay: first")
    second, third = queued(shop, "say: second"), queued(shop, "say: third")
    waits_for(shop, second, "it shows no place to type a message now")
    assert receipt(shop, third)["reason"] == f"{second} is before it"
    code, error = shop.error("send", "--status", third, "--wait", "submitted", "--timeout", "0.2")
    assert (code, error["receipt"]["state"], error["receipt"]["message"]) == (6, "queued", third)
    assert "it stays in line" in error["remedy"]
    arrives(shop, third)
    lines = screen(shop).splitlines()
    assert [word for word in lines if word in ("first", "second", "third")] == ["first", "second", "third"]


def test_what_waits_behind_one_that_opened_a_question_says_why(shop: Instance) -> None:
    # Whether the first was taken is being found out while the question hides the composer.
    shop.run("send", "a", "ask: may I?")
    code, error = shop.error("send", "--timeout", "0.3", "a", "say: later")
    assert (code, error["receipt"]["state"]) == (6, "queued")
    assert error["receipt"]["reason"]
    assert error["message"].endswith(error["receipt"]["reason"])


def test_without_enter_it_is_left_in_the_composer_for_a_person(shop: Instance) -> None:
    sent = shop.json("send", "--no-enter", "a", "say: half")
    assert sent["state"] == "pasted"
    message = queued(shop, "say: next")
    waits_for(shop, message, "somebody is writing there")
    with at(shop) as person:
        person.press("\r")
        arrives(shop, message)
    assert "half" in screen(shop).splitlines()


def test_what_is_in_line_outlives_the_daemon_and_goes_to_the_next_run(shop: Instance) -> None:
    shop.run("send", "a", "wait: 60")
    message = queued(shop, "say: hello")
    shop.run("daemon", "stop")
    shop.run("daemon", "start")
    assert receipt(shop, message)["state"] == "queued"
    shop.run("restart", "a")
    arrives(shop, message)


def test_for_an_agent_that_was_stopped_it_has_failed(shop: Instance) -> None:
    shop.run("send", "a", "wait: 60")
    message = queued(shop, "say: hello")
    shop.run("stop", "a")
    wait_for(lambda: receipt(shop, message)["state"] == "failed", 20, "it fails")
    assert "a is stopped" in receipt(shop, message)["reason"]
    assert shop.error("send", "a", "hello")[0] == 1


def test_an_agent_in_back_off_gets_it_in_its_next_run(instance: Instance) -> None:
    instance.spec(TEAM + 'restart = { policy = "always", delay = "12s" }\n')
    instance.run("up")
    instance.run("send", "a", "exit: 3")
    wait_for(lambda: ps(instance)["a"]["state"] == "backoff", 20, "it is to start again")
    message = queued(instance, "say: hello")
    waits_for(instance, message, "the agent is backoff: exit 3; it is started again in")
    told = instance.json("broadcast", "--wait", "queued", "say: to all")["receipts"]
    assert [one["state"] for one in told] == ["queued"]
    arrives(instance, message)
    arrives(instance, told[0]["message"])


def test_an_agent_in_line_gets_it_behind_its_first_prompt(instance: Instance) -> None:
    prompted = f'[agents.b]\ncommand = {DEMO}\nworkspace = "shared"\nprompt = "say: first"\n'
    instance.spec(TEAM + prompted + "[supervision]\nmax_agents = 1\n")
    instance.run("up")
    message = queued(instance, "say: second", "b")
    waits_for(instance, message, "the agent is pending: waits for a place")
    instance.run("stop", "a")
    arrives(instance, message)
    said = screen(instance, "b").splitlines()
    assert said.index("first") < said.index("second")


@pytest.mark.parametrize(
    "text",
    [
        "x" * (1 << 20),
        "\n".join(f"line {number}" for number in range(10_000)),
        "a\x1b[200~b\x1b]0;t\x07\x00c\x7f",
        "漢字 עברית 🐎",
    ],
    ids=["1 MiB", "10,000 lines", "escape sequences", "scripts"],
)
def test_texts_of_every_kind(shop: Instance, text: str) -> None:
    done = shop.run("send", "--wait", "observed", "--timeout", "60", "a", input=text)
    assert "observed" in done.stdout
    assert screen(shop).count("\ndone.") <= 1


def test_a_broadcast_goes_to_the_agents_and_no_service(instance: Instance) -> None:
    instance.spec(
        TEAM + f'[agents.b]\ncommand = {DEMO}\nworkspace = "shared"\ncount = 2\n'
        '[agents.db]\nkind = "service"\ncommand = ["cat"]\nworkspace = "shared"\n'
    )
    instance.run("up")
    told = instance.json("broadcast", "--wait", "observed", "say: to all")
    assert [(one["agent"], one["state"]) for one in told["receipts"]] == [
        ("a", "observed"), ("b-1", "observed"), ("b-2", "observed")
    ]  # fmt: skip
    instance.run("stop", "b-1")
    done = instance.run("broadcast", "--role", "b", "--json", "say: to some", check=False)
    states = [(one["agent"], one["state"]) for one in json.loads(done.stdout)["receipts"]]
    assert (done.returncode, states) == (1, [("b-1", "failed"), ("b-2", "submitted")])
    assert instance.error("broadcast", "--role", "nobody", "hello")[0] == 3
    assert "to all" not in instance.run("logs", "db").stdout


def test_nobody_speaks_to_a_service_but_by_force(instance: Instance) -> None:
    instance.spec('[team]\nname = "shop"\n[agents.db]\nkind = "service"\ncommand = ["cat"]\nworkspace = "shared"\n')
    instance.run("up")
    code, error = instance.error("send", "db", "by mistake")
    assert (code, error["message"]) == (4, "db is a service, and nobody speaks to it")
    assert "corral send --force shop/db" in error["remedy"]
    instance.run("send", "--force", "db", "on purpose")
    wait_for(lambda: "on purpose" in instance.run("logs", "db").stdout, what="the service has read it")
    assert "by mistake" not in instance.run("logs", "db").stdout


def test_what_is_sent_while_a_first_dialog_is_open_comes_behind_the_first_prompt(
    instance: Instance, own_directory: Path
) -> None:
    # It asks before it shows where to type, and is told to be ready later than that can be seen.
    command = json.dumps(["sh", "-c", f'printf "Allow? "; read yes; exec {shlex.join(DEMO_WORDS)}'])
    instance.spec(
        f'[team]\nname = "shop"\n[agents.a]\ncommand = {command}\nworkspace = "shared"\n'
        f'prompt = "say: first"\nready = {{ command = "test -e {own_directory}/go" }}\n'
    )
    instance.run("up")
    message = queued(instance, "say: second")
    with at(instance) as person:
        person.type("y\r")
        wait_for(lambda: "demo>" in screen(instance), what="it shows where to type")
    waits_for(instance, message, "its first prompt comes first")
    (own_directory / "go").touch()
    wait_for(lambda: receipt(instance, message)["state"] in ("submitted", "observed"), 20, "it is typed")
    wait_for(lambda: "second" in screen(instance).splitlines(), what="both are heard")
    said = screen(instance).splitlines()
    assert said.index("first") < said.index("second")


def test_one_that_was_entered_stays_so_though_its_agent_has_ended(shop: Instance) -> None:
    sent = shop.json("send", "a", "exit: 3")
    wait_for(lambda: ps(shop)["a"]["state"] == "failed", 20, "it does what it was told")
    shop.run("send", "--status", sent["message"], "--wait", "observed", check=False)  # until nothing more comes of it
    assert receipt(shop, sent["message"])["state"] in ("submitted", "observed")
    assert "message.failed" not in shop.run("events", "-n", "all").stdout


def test_nothing_is_typed_into_a_question(shop: Instance) -> None:
    shop.run("send", "a", "ask: may I?")
    message = queued(shop, "say: hello")
    waits_for(shop, message, "it waits for a person (permission)")
    with at(shop) as person:
        person.press("1")
        arrives(shop, message)
    assert screen(shop).count("say: hello") == 1
