"""Which of what hooks, records and screens say counts, and for how long."""

import pytest

from corral.domain.activity import (
    HOOK,
    IDLE,
    NOT_KNOWN,
    OUTPUT,
    PERMISSION,
    PROTOCOL,
    SCREEN,
    SETTLED_SECONDS,
    TRANSCRIPT,
    UNKNOWN,
    WAITING,
    WORKING,
    Activity,
    Said,
    become,
    combined,
)


def hook(word: str, at: float, about: str = "") -> Said:
    return Said(word=word, about=about, by="Stop" if word == IDLE else "UserPromptSubmit", at=at, source=HOOK)


def screen(word: str, at: float, about: str = "") -> Said:
    return Said(word=word, about=about, by=about or word, at=at, source=SCREEN)


def written(word: str, at: float, source: str = TRANSCRIPT) -> Said:
    return Said(word=word, at=at, source=source)


def output(word: str, at: float = 0.0) -> Said:
    return Said(word=word, at=at, source=OUTPUT)


class TestWhatItWroteDown:
    def test_counts_before_the_screen_and_the_output_and_behind_a_hook(self) -> None:
        said = written(WORKING, 10)
        for seen in (screen(WORKING, 5), output(IDLE), Said(word=UNKNOWN)):
            assert combined(None, said, seen, 100) == (said, None)
            assert combined(hook(WORKING, 1), said, seen, 100) == (hook(WORKING, 1), None)
        assert combined(Said(word=UNKNOWN, source=HOOK), said, output(IDLE), 100) == (said, None)

    def test_hides_no_dialog_and_no_screen_that_has_settled(self) -> None:
        dialog, idle = screen(WAITING, 5, PERMISSION), screen(IDLE, 11)
        assert combined(None, written(WORKING, 10), dialog, 20) == (dialog, None)
        said = written(WORKING, 10)
        assert combined(None, said, idle, 12) == (said, SETTLED_SECONDS - 1)
        assert combined(None, said, idle, 11 + SETTLED_SECONDS) == (idle, None)

    @pytest.mark.parametrize("source", [PROTOCOL, TRANSCRIPT])
    def test_is_named(self, source: str) -> None:
        assert written(IDLE, 1, source).evidence == source


class TestWhichCounts:
    def test_without_a_hook_what_is_seen_does(self) -> None:
        for seen in (screen(WORKING, 1), output(IDLE), Said(word=UNKNOWN)):
            assert combined(None, None, seen, 100) == (seen, None)

    @pytest.mark.parametrize("word", [WORKING, IDLE])
    def test_a_hook_knows_better_than_the_output(self, word: str) -> None:
        said = hook(word, 10)
        for seen in (output(WORKING, 20), output(IDLE, 20), Said(word=UNKNOWN)):
            assert combined(said, None, seen, 1000) == (said, None)

    @pytest.mark.parametrize("word", [WORKING, IDLE])
    @pytest.mark.parametrize("at", [5, 15])
    def test_a_dialog_on_the_screen_is_there_whatever_a_hook_said(self, word: str, at: float) -> None:
        dialog = screen(WAITING, at, PERMISSION)
        assert combined(hook(word, 10), None, dialog, 20) == (dialog, None)

    def test_where_both_say_the_same_the_hook_is_the_evidence(self) -> None:
        said = hook(WORKING, 10)
        assert combined(said, None, screen(WORKING, 50), 100) == (said, None)

    def test_an_idle_screen_counts_once_it_has_stood_for_a_while(self) -> None:
        said, idle = hook(WORKING, 10), screen(IDLE, 20)
        assert combined(said, None, idle, 21) == (said, SETTLED_SECONDS - 1)
        assert combined(said, None, idle, 20 + SETTLED_SECONDS) == (idle, None)

    def test_a_hook_that_has_just_spoken_is_believed_over_an_older_screen(self) -> None:
        said, idle = hook(WORKING, 20), screen(IDLE, 10)
        assert combined(said, None, idle, 20) == (said, SETTLED_SECONDS)
        assert combined(said, None, idle, 20 + SETTLED_SECONDS) == (idle, None)

    def test_a_screen_that_begins_to_work_is_believed_at_once(self) -> None:
        busy = screen(WORKING, 20)
        assert combined(hook(IDLE, 10), None, busy, 20) == (busy, None)

    def test_the_last_of_a_spinner_does_not_outlive_the_stop(self) -> None:
        said, busy = hook(IDLE, 20), screen(WORKING, 10)
        assert combined(said, None, busy, 21) == (said, SETTLED_SECONDS - 1)

    def test_a_permission_that_a_hook_told_of_is_over_when_the_screen_works_again(self) -> None:
        asked = hook(WAITING, 10, PERMISSION)
        assert combined(asked, None, output(IDLE, 20), 1000) == (asked, None)
        busy = screen(WORKING, 20)
        assert combined(asked, None, busy, 20) == (busy, None)


class TestEvidence:
    def test_is_told_in_words(self) -> None:
        assert hook(IDLE, 1).evidence == "hook Stop"
        assert screen(WAITING, 1, PERMISSION).evidence == "screen: permission"
        assert output(WORKING).evidence == "output"
        assert Said(word=UNKNOWN).evidence == ""


class TestSince:
    def test_is_when_it_began_to_do_that(self) -> None:
        before = become(NOT_KNOWN, hook(WORKING, 10))
        assert before == Activity(word=WORKING, evidence="hook UserPromptSubmit", since=10)
        assert become(before, screen(WORKING, 30)) == Activity(word=WORKING, evidence="screen: working", since=10)

    def test_waiting_for_something_else_is_another_wait(self) -> None:
        before = become(NOT_KNOWN, screen(WAITING, 10, PERMISSION))
        assert become(before, screen(WAITING, 30, "question")).since == 30
