"""What else waits for a person: an agent that gets nowhere, and a question that is answered in words."""

import sys
from pathlib import Path

from tests.faults.support.teams import await_event, events, toml
from tests.integration.test_inbox import shows, waiting
from tests.support.instance import Instance
from tests.support.waiting import wait_for

#: Says that it works, and that it is done once the file `go` is there.
SLOW = """\
import pathlib, time
print("busy: thinking", flush=True)
while not pathlib.Path("go").exists():
    time.sleep(0.02)
print("\\x1b[2J\\x1b[Hdone\\nslow> ", flush=True)
time.sleep(3600)
"""
SLOW_RULES = """
[[screen]]
name = "working"
says = "working"
lines = ['^busy: ']

[[screen]]
name = "idle"
says = "idle"
lines = ['^slow>']
"""
#: Its hook tells of a question; what is typed is the answer.
ASKER = """\
import json, subprocess, sys
told = {"hook_event_name": "Notification", "notification_type": "elicitation_dialog"}
print("Which colour?", flush=True)
subprocess.run([*sys.argv[1:], "hook", "claude", "notification"], input=json.dumps(told).encode(), check=True)
answer = input("asker> ")
told = {"hook_event_name": "UserPromptSubmit", "prompt": answer}
subprocess.run([*sys.argv[1:], "hook", "claude", "user-prompt-submit"], input=json.dumps(told).encode(), check=True)
print("it is " + answer, flush=True)
input("asker> ")
"""

#: A dialog with a choice that is but ticked, and a field for words; what is submitted there answers it.
CHOOSER = """\
import sys, tty
tty.setcbreak(0)
at, tick, typed = 1, " ", ""
while True:
    rows = [f"1. [{tick}] Red", f"2. {typed or 'Other'}"]
    shown = [("> " if at == number else "  ") + row for number, row in enumerate(rows, 1)]
    sys.stdout.write("\\n".join(["\\x1b[2J\\x1b[HWhich colour?", *shown, "Enter to go on"]))
    sys.stdout.flush()
    key = sys.stdin.read(1)
    if at == 2 and key == "\\n":
        break
    elif at == 2:
        typed += key
    elif key == "1":
        tick = "x"
    elif key == "2":
        at = 2
print("\\x1b[2J\\x1b[Hit is " + typed + "\\nchooser> ", end="", flush=True)
sys.stdin.read()
"""
CHOOSER_RULES = """
[[screen]]
name = "question"
says = "waiting"
about = "question"
lines = ['^Which colour', '^Enter to go on']
words = '^[> ] (?P<option>2)\\. (?:Other|(?P<text>.*))$'

[[screen]]
name = "idle"
says = "idle"
lines = ['^chooser>']
"""


def install(instance: Instance, directory: Path, name: str, program: str, more: str = "") -> str:
    """A program with a profile; the path of the program."""
    path = directory / name
    path.write_text(f"#!{sys.executable}\n{program}")
    path.chmod(0o755)
    profiles = Path(instance.home, "profiles")
    profiles.mkdir(parents=True, mode=0o700)
    Path(instance.home).chmod(0o700)
    (profiles / f"{name}.toml").write_text(
        f'name = "{name}"\ntitle = "{name}"\nexecutable = "{name}"\ncommand = ["{name}"]\nready = [\'^{name}> *$\']\n'
        f"draft = '^{name}>(?P<text>(?: .*)?)$'\npaste_pause = 0\nnote = \"Of the tests.\"\n{more}"
    )
    return str(path)


def test_an_agent_that_gets_nowhere_waits_for_somebody_until_it_moves_on(
    instance: Instance, own_directory: Path
) -> None:
    slow = install(instance, own_directory, "slow", SLOW, SLOW_RULES)
    instance.spec(toml({"a": {"command": [slow], "stuck_after": "1s", "nudge": ""}}))
    instance.run("up")
    number = int(await_event(instance, "inbox.opened", "a")["data"]["entry"])
    (entry,) = waiting(instance)
    assert (entry["entry"], entry["kind"], entry["can"]) == (number, "stuck", [])
    assert entry["lines"] == ["busy: thinking"]
    assert all(words in entry["remedy"] for words in ("corral attach shop/a", "corral restart shop/a"))
    code, error = instance.error("inbox", "approve", str(number))
    assert (code, "corral restart shop/a" in error["remedy"]) == (4, True)
    order = [one["event"] for one in events(instance)]
    assert order.index("agent.stuck") < order.index("inbox.opened")

    Path(instance.directory, "go").touch()
    wait_for(lambda: not waiting(instance), 20, "the entry goes with its cause")
    assert instance.json("inbox", "show", str(number))["state"] == "gone"


def test_a_question_is_answered_in_words(instance: Instance, own_directory: Path) -> None:
    asker = install(instance, own_directory, "asker", ASKER)
    instance.spec(toml({"a": {"command": [asker, *instance.argv()]}}))
    instance.run("up")
    number = str(await_event(instance, "inbox.opened", "a")["data"]["entry"])
    (entry,) = waiting(instance)
    assert (entry["kind"], entry["can"]) == ("question", ["text"])
    assert "Which colour?" in entry["lines"]
    assert instance.error("inbox", "answer", number, "1")[0] == 4
    answered = instance.json("inbox", "answer", number, "dark", "green")
    assert (answered["state"], answered["answer"], answered["outcome"]) == ("answered", "text", "proved")
    shows(instance, "it is dark green")
    wait_for(lambda: not waiting(instance), 20, "nobody is asked any more")
    # Who answered is journalled; what they said is not.
    given = [one for one in events(instance) if one["event"] == "inbox.answered"]
    assert [one["data"]["answer"] for one in given] == ["text"]
    assert "dark green" not in str(events(instance))
    assert instance.run("logs", "--lines", "all", "a").stdout.count("it is dark green") == 1
    assert instance.error("inbox", "answer", number, "blue")[0] == 4


def test_a_key_that_changes_a_dialog_and_does_not_answer_it_is_no_answer_and_words_go_into_its_field(
    instance: Instance, own_directory: Path
) -> None:
    chooser = install(instance, own_directory, "chooser", CHOOSER, CHOOSER_RULES)
    instance.spec(toml({"a": {"command": [chooser]}}))
    instance.run("up")
    (entry,) = wait_for(lambda: waiting(instance), 20, "the question waits for a person")
    assert (entry["can"], entry["options"]) == (["option", "text"], [{"option": 1, "text": "[ ] Red"}])
    code, error = instance.error("inbox", "answer", str(entry["entry"]), "1")
    assert (code, "1 was pressed, and a asks the same" in error["message"]) == (4, True)
    assert "> 1. [x] Red" in error["lines"]
    assert not [one for one in events(instance) if one["event"] == "inbox.answered"]

    (entry,) = wait_for(
        lambda: [one for one in waiting(instance) if "[x] Red" in str(one["options"])], 20, "it is ticked"
    )
    words = "as green as grass, " * 8 + "and greener"
    instance.run("inbox", "answer", str(entry["entry"]), *words.split())
    assert f"it is {words}" in instance.run("logs", "--screen", "a").stdout.replace("\n", "")
    shown = instance.json("inbox", "show", str(entry["entry"]))
    assert (shown["state"], shown["outcome"], shown["answer"]) == ("answered", "proved", "text")
    code, error = instance.error("inbox", "approve", str(entry["entry"]))
    assert (code, "was answered by" in error["message"]) == (4, True)
