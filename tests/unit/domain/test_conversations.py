"""Which conversation an agent goes on with, and with which words."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from corral.domain import conversations
from corral.domain.conversations import GIVEN, HOOK, SOON, TRANSCRIPT, Opening, Seen, Ways
from corral.domain.records import (
    NO_CONVERSATION,
    PROMPT_NONE,
    PROMPT_SENDING,
    PROMPT_SENT,
    PROMPT_UNKNOWN,
    PROMPT_WAITING,
    Agent,
    Conversation,
)
from tests.support.records import AGENT

WAYS = Ways(
    resume=("--resume", "{session}"),
    fork=("--resume", "{session}", "--fork", "{new}", "-C", "{directory}"),
    begin=("--id", "{new}"),
    unless=("--continue", "exec"),
)
#: Chooses its ids itself.
OWN_IDS = replace(WAYS, begin=(), fork=("fork", "{session}"))
PROMPTED = replace(AGENT, prompt="do it", workspace="/w")
THERE, GONE = Seen(looked=True, there=True), Seen(looked=True)


def had(agent: Agent = PROMPTED, **known: object) -> Agent:
    """The agent with a conversation from its last run."""
    return replace(agent, conversation=Conversation(**{"begun_at": 100.0, **known}))  # type: ignore[arg-type]


def begin(agent: Agent, ways: Ways | None = WAYS, seen: Seen = THERE, *, alone: bool = True) -> Opening:
    return conversations.opening(agent, ways, seen, alone=alone, now=200.0, new_id=lambda: "new")


def test_the_first_run_gets_an_id_where_the_program_takes_one() -> None:
    opening = begin(PROMPTED, seen=Seen())
    assert opening.words == ("--id", "new")
    assert opening.conversation == Conversation(id="new", evidence=GIVEN, begun_at=200.0)
    assert opening.prompt_state == PROMPT_WAITING


def test_the_first_run_of_a_program_that_chooses_its_ids_is_started_as_declared() -> None:
    opening = begin(PROMPTED, OWN_IDS, Seen())
    assert (opening.words, opening.conversation.id) == ((), "")


def test_a_program_that_nobody_knows_is_started_as_declared() -> None:
    opening = begin(had(id="x", evidence=HOOK), None)
    assert opening == Opening((), Conversation(begun_at=200.0), PROMPT_WAITING)


def test_a_known_conversation_goes_on() -> None:
    opening = begin(had(id="x", evidence=GIVEN))
    assert opening.words == ("--resume", "x")
    assert opening.conversation == Conversation(id="x", evidence=GIVEN, resumed=True, begun_at=200.0)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (PROMPT_SENT, PROMPT_SENT),
        (PROMPT_SENDING, PROMPT_UNKNOWN),
        (PROMPT_UNKNOWN, PROMPT_UNKNOWN),
        (PROMPT_WAITING, PROMPT_WAITING),
        (PROMPT_NONE, PROMPT_WAITING),
    ],
)
def test_a_prompt_that_was_said_in_a_conversation_is_not_said_again(before: str, after: str) -> None:
    opening = begin(had(replace(PROMPTED, prompt_state=before), id="x", evidence=GIVEN))
    assert opening.prompt_state == after


def test_a_conversation_in_which_nothing_was_ever_said_is_not_looked_for_by_the_program() -> None:
    opening = begin(had(replace(PROMPTED, prompt_state=PROMPT_SENT), id="x", evidence=GIVEN), seen=GONE)
    assert opening.words == ("--id", "new")
    assert opening.prompt_state == PROMPT_WAITING


def test_what_a_hook_told_is_believed_where_nothing_can_be_looked_at() -> None:
    assert begin(had(id="x", evidence=HOOK), OWN_IDS, Seen()).words == ("--resume", "x")


@pytest.mark.parametrize(
    ("known", "seen", "alone", "expected"),
    [
        (Conversation(), Seen(True, False, "n"), True, ("n", TRANSCRIPT)),
        (Conversation(), Seen(True, False, "n"), False, ("", "")),
        (Conversation(id="t", evidence=TRANSCRIPT), Seen(True, True, "n"), True, ("n", TRANSCRIPT)),
        (Conversation(id="t", evidence=TRANSCRIPT), Seen(True, True, ""), True, ("t", TRANSCRIPT)),
        (Conversation(id="h", evidence=HOOK), Seen(True, True, "n"), True, ("h", HOOK)),
        (Conversation(id="g", evidence=GIVEN), Seen(True, True, "n"), True, ("g", GIVEN)),
        (Conversation(id="g", evidence=GIVEN), Seen(True, False, "n"), True, ("n", TRANSCRIPT)),
        (Conversation(id="g", evidence=GIVEN), Seen(True, False, "n"), False, ("", "")),
    ],
)
def test_which_conversation_is_the_present_one(
    known: Conversation, seen: Seen, alone: bool, expected: tuple[str, str]
) -> None:
    assert conversations.present(known, seen, alone=alone) == expected


def test_a_fork_goes_on_with_the_other_until_it_has_a_conversation_of_its_own() -> None:
    forked = replace(PROMPTED, conversation=Conversation(forked_from="theirs"))
    first = begin(forked, seen=Seen())
    assert first.words == ("--resume", "theirs", "--fork", "new", "-C", "/w")
    assert (first.conversation.id, first.conversation.resumed) == ("new", True)
    assert first.prompt_state == PROMPT_WAITING
    started = replace(forked, conversation=first.conversation)
    assert begin(started, seen=GONE).words[1] == "theirs"
    assert begin(started, seen=THERE).words == ("--resume", "new")


def test_a_fork_whose_program_chooses_the_id_has_none_at_first() -> None:
    forked = begin(replace(PROMPTED, conversation=Conversation(forked_from="theirs")), OWN_IDS, Seen())
    assert (forked.words, forked.conversation.id) == (("fork", "theirs"), "")


def test_an_agent_that_starts_over_has_no_past() -> None:
    agent = conversations.forgotten(had(replace(PROMPTED, prompt_state=PROMPT_SENT), id="x", forked_from="theirs"))
    assert agent.conversation == NO_CONVERSATION
    assert begin(agent, seen=Seen()).words == ("--id", "new")
    assert begin(agent, seen=Seen()).prompt_state == PROMPT_WAITING


def test_one_that_cannot_be_continued_is_named_and_the_next_start_is_fresh() -> None:
    running = replace(PROMPTED, conversation=Conversation(id="x", evidence=HOOK, resumed=True, begun_at=200.0))
    ended, lost = conversations.after_exit(running, 1, None, 200.0 + SOON - 1)
    assert lost == "x"
    opening = begin(ended, seen=GONE)
    assert opening.words == ("--id", "new")
    assert opening.prompt_state == PROMPT_WAITING


def test_one_is_tried_again_if_a_fresh_start_fails_as_well() -> None:
    running = replace(PROMPTED, conversation=Conversation(id="x", evidence=HOOK, resumed=True, begun_at=200.0))
    ended, _ = conversations.after_exit(running, 1, None, 201.0)
    fresh = replace(ended, conversation=begin(ended, seen=GONE).conversation)
    again, lost = conversations.after_exit(fresh, 1, None, 201.0)
    assert lost == ""
    assert begin(again).words == ("--resume", "x")


@pytest.mark.parametrize(
    ("code", "signal", "later"), [(0, None, 1.0), (137, 9, 1.0), (None, None, 1.0), (1, None, SOON + 1)]
)
def test_other_ends_are_no_fault_of_the_conversation(code: int | None, signal: int | None, later: float) -> None:
    running = replace(PROMPTED, conversation=Conversation(id="x", evidence=HOOK, resumed=True, begun_at=200.0))
    assert conversations.after_exit(running, code, signal, 200.0 + later) == (running, "")


@pytest.mark.parametrize("text", ["", "-x", "--resume", "a b", "a\nb", "a/b", "$(x)", "x" * 201])
def test_what_could_be_anything_but_a_word_is_no_id(text: str) -> None:
    assert not conversations.is_id(text)
    assert conversations.found(PROMPTED, text, HOOK) is None


def test_what_a_hook_tells_is_kept_and_no_guess_replaces_it() -> None:
    told = conversations.found(had(id="g", evidence=GIVEN), "h", HOOK)
    assert told is not None
    assert (told.conversation.id, told.conversation.evidence) == ("h", HOOK)
    assert conversations.found(told, "h", HOOK) is None
    assert conversations.found(told, "n", TRANSCRIPT) is None


@pytest.mark.parametrize(
    ("words", "itself"),
    [(["claude"], False), (["claude", "--continue"], True), (["x", "--continue=1"], True), (["x", "continue"], False)],
)
def test_a_command_may_decide_itself(words: list[str], itself: bool) -> None:
    assert conversations.decides_itself(words, WAYS) is itself


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        (lambda agent: agent, True),
        (lambda agent: replace(agent, workspace="/elsewhere"), False),
    ],
)
def test_an_agent_that_is_declared_anew_keeps_its_conversation(change: Callable[[Agent], Agent], kept: bool) -> None:
    before = had(replace(PROMPTED, prompt_state=PROMPT_SENT), id="x", evidence=HOOK)
    after = conversations.carried_over(before, change(PROMPTED), same_program=True)
    assert (after.conversation.id == "x") is kept
    other = conversations.carried_over(before, PROMPTED, same_program=False)
    assert other.conversation == NO_CONVERSATION


def test_a_prompt_that_is_declared_anew_is_said() -> None:
    before = had(replace(PROMPTED, prompt_state=PROMPT_SENT), id="x", evidence=HOOK)
    same = conversations.carried_over(before, PROMPTED, same_program=True)
    other = conversations.carried_over(before, replace(PROMPTED, prompt="do more"), same_program=True)
    assert begin(same).prompt_state == PROMPT_SENT
    assert begin(other).prompt_state == PROMPT_WAITING
