"""A question of a real coding agent that has choices and a field for words: each answer is what it gets, or refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_activity import SECONDS, start
from tests.faults.support.teams import await_event, events, last_seq
from tests.support.instance import Instance
from tests.support.model.script import Call, Rule, Say, Script
from tests.support.model.server import serving
from tests.support.real_agents import CLAUDE
from tests.support.waiting import wait_for

pytestmark = pytest.mark.slow

ASK = "please ask me"
QUESTION = Call(
    "AskUserQuestion",
    {
        "questions": [
            {
                "question": "Which database?",
                "header": "Database",
                "multiSelect": False,
                "options": [
                    {"label": "SQLite", "description": "a file"},
                    {"label": "Postgres", "description": "a server"},
                ],
            }
        ]
    },
)


def test_a_question_is_answered_by_a_choice_or_in_words_and_never_by_mistake(
    instance: Instance, own_directory: Path, repo: Callable[..., Path]
) -> None:
    script = Script([Rule(ASK, [QUESTION, Say("So be it.")])])

    def waiting() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = instance.json("inbox")["entries"]
        return found

    def known(fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        return wait_for(lambda: [one for one in waiting() if fits(one)], SECONDS, "the entry is so")[0]

    def told() -> str:
        """What the model was told that the person had answered."""
        return wait_for(lambda: [one.results[-1] for one in script.asked if one.results], SECONDS, "an answer")[-1]

    with serving(script) as address:
        watched = start(CLAUDE, instance, repo(), own_directory / "home", address, hooks=False)

        def asked() -> str:
            watched.comes_to("idle")
            script.asked.clear()
            after = last_seq(instance)
            instance.run("send", "a", ASK)
            await_event(instance, "inbox.opened", "a", after=after, seconds=SECONDS)
            entry = known(lambda one: "text" in one["can"])
            assert [option["option"] for option in entry["options"]] == [1, 2, 4]
            return str(entry["entry"])

        instance.run("inbox", "answer", asked(), "2")
        assert '"Postgres"' in told()

        number = asked()
        # The field itself is no choice: a digit would but go there.
        assert instance.error("inbox", "answer", number, "3")[0] == 2
        instance.run("inbox", "answer", number, "use", "MySQL,", *["because it is there"] * 8)
        assert '"use MySQL, because it is there because' in told()

        number = asked()
        watched.press("3")
        known(lambda one: "option" not in one["can"] and "text" in one["can"])
        code, error = instance.error("inbox", "answer", number, "1")
        assert (code, "no numbered choice now" in error["message"]) == (4, True)
        instance.run("inbox", "answer", number, "use", "DuckDB")
        assert '"use DuckDB"' in told()

        number = asked()
        watched.press("3")
        # Two keys that come at once are one to the program, and no choice.
        known(lambda one: "option" not in one["can"] and "text" in one["can"])
        watched.press("7")
        # It is the same question, and nobody writes behind what somebody has begun to write.
        assert known(lambda one: one["can"] == ["deny"])["entry"] == int(number)
        assert instance.error("inbox", "answer", number, "use", "MySQL")[0] == 4
        instance.run("inbox", "deny", number)

        given = [one["data"]["answer"] for one in events(instance) if one["event"] == "inbox.answered"]
        assert given == ["2", "text", "text", "deny"]
        instance.run("down", "--discard")
