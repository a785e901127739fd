"""No command is changed in what it means. bash itself is the judge.

CORRAL_FUZZ_SECONDS=600 goes on for as long.
"""

import itertools
import os
import re
import time
from collections import Counter
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corral.domain.shell_syntax import Analysis, analyse
from tests.unit.domain import bash_judge
from tests.unit.domain.shell_texts import Author

pytestmark = pytest.mark.slow

_SECONDS = float(os.environ.get("CORRAL_FUZZ_SECONDS", "0"))

_SPECIAL = "&;|<>(){}[]$`'\"\\#!= \n\ta1"

#: Something in it may be why it is run as it was written, by decision.
_LEFT_ALONE = re.compile(r"nohup|setsid|trap|wait|disown|exec")
#: Inside a name they change nothing: `n\ohup` is nohup.
_QUOTES = re.compile(r"""\\\n|[\\'"]""")
#: Something in it may be why it is not understood: it is known to bash, and in no command that somebody meant.
_REFUSED = re.compile(
    r"""coproc                # has a grammar of its own
    |\(\(                     # arithmetic with brackets of another kind in it
    |\$\{[ \t\n|(]            # commands, for a newer bash
    |(?:\$\{|\[)[^}\]]*[<>]\(  # a substitution within brackets
    |<<-?(?:[ \t]|\\\n)*\$     # a delimiter that looks like an expansion
    |[$<>]\([ \t]*time|\|&?[ \t]*(?:\#[^\n]*)?\n\s*time  # not a reserved word in every place
    |(?:eval|let|alias)[^\n]*=\(
    |\\\n[&|;<>(-]|[$<>]\(?\\\n  # an operator on two lines
    |\\$                      # nothing behind a backslash
    """,
    re.VERBOSE,
)


def again_and_again(check: Callable[[], None]) -> None:
    """Once, or for as long as CORRAL_FUZZ_SECONDS says."""
    end = time.monotonic() + _SECONDS
    check()
    while time.monotonic() < end:
        check()


def one_letter_at_most(command: str, found: Analysis) -> int | None:
    """Where the analysis changed the command; it may have put a blank in place of one `&`."""
    if not found.promoted:
        assert found.command == command
        return None
    changed = [at for at, (old, new) in enumerate(zip(command, found.command, strict=True)) if old != new]
    assert [(command[at], found.command[at]) for at in changed] == [("&", " ")]
    return changed[0]


@pytest.mark.slow
def test_bash_agrees_with_every_decision() -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=600, suppress_health_check=list(HealthCheck))
    @given(st.randoms(use_true_random=False))
    def check(random: Random) -> None:
        command = Author(random).command()
        seen[judged(command)] += 1

    again_and_again(check)
    print(f"{seen.total()} commands: {dict(seen)}")
    assert seen["promoted"] > seen.total() / 10
    assert seen["no command, and promoted"] < seen.total() / 100


def judged(command: str) -> str:
    """Compare what was decided about a command with what bash says; which of the possible ends that had."""
    text = bash_judge.encoded(command)
    found = analyse(command)
    ampersand = one_letter_at_most(command, found)
    reading = bash_judge.read(text)
    if not reading.valid:
        # bash refuses a few more than we do, and then in both forms.
        assert not found.promoted or not bash_judge.read(bash_judge.encoded(found.command)).valid
        return "no command, and promoted" if found.promoted else "no command"
    if ampersand is not None:
        at = len(bash_judge.encoded(command[:ampersand]))
        assert bash_judge.ends_last_item(text, at), f"bash reads this in another way: {command!r}"
        return "promoted"
    if not re.search(rb" & *(\n|$)", reading.canonical):
        return "not in the background"
    if reading.cut_short or _REFUSED.search(command) or _LEFT_ALONE.search(_QUOTES.sub("", command)):
        return "may be left alone"
    for at in [found.start() for found in re.finditer(b"&", text)][-3:]:
        assert not bash_judge.ends_last_item(text, at), f"this should have been promoted: {command!r}"
    return "left alone"


def test_every_short_text_is_taken() -> None:
    for length in range(5 if _SECONDS else 4):
        for letters in itertools.product(_SPECIAL, repeat=length):
            command = "".join(letters)
            one_letter_at_most(command, analyse(command))


@settings(max_examples=1000 if _SECONDS else 200)
@given(st.text(st.characters(codec=None) | st.sampled_from(_SPECIAL)))
def test_any_text_is_taken(command: str) -> None:
    one_letter_at_most(command, analyse(command))


@settings(max_examples=1000 if _SECONDS else 200)
@given(st.binary())
def test_any_bytes_are_taken(command: bytes) -> None:
    text = command.decode("utf-8", "surrogateescape")
    one_letter_at_most(text, analyse(text))
