"""The steps of a message into a terminal: each done once, none into what somebody else does there, and with proof."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import pytest

from corral.agents.catalogue import by_name
from corral.agents.profile import Profile
from corral.domain.errors import CorralError, RefusedError, UnavailableError
from corral.keeper import typing as typists
from corral.keeper.typing import Typist
from corral.ports.keyboard import Glimpse, Watcher
from corral.ports.typing import Typing


def demo() -> Profile:
    profile = by_name("demo")
    assert profile is not None
    return profile


class Terminal:
    """A program with a composer, as far as a keyboard reaches it; it stands for the runtime that has it as well."""

    def __init__(self) -> None:
        self.draft = ""
        self.taken: list[str] = []
        self.above: list[str] = []
        self.watchers: list[Watcher] = []
        self.in_mode = False
        self.leases = 0
        #: Nobody has leased it.
        self.free = asyncio.Event()
        self.pasted: list[str] = []
        #: What the next paste, and a look, come to.
        self.paste_error: CorralError | None = None
        self.look_error: CorralError | None = None
        #: Enters that it does not hear.
        self.deaf = 0
        #: It takes a message so many seconds after its Enter.
        self.slow = 0.0
        #: What it takes makes it ask something.
        self.asks_then = False
        self.wrote: Callable[[], None] = lambda: None

    async def keyboard(self, run: str) -> "Terminal":
        return self

    async def look(self) -> Glimpse:
        if self.look_error is not None:
            raise self.look_error
        composer = [] if self.above and self.above[-1].startswith("choose>") else [f"demo> {self.draft}"]
        return Glimpse(lines=[*self.above, *composer], in_mode=self.in_mode, watchers=self.watchers)

    async def lease(self) -> None:
        self.leases += 1
        self.free.clear()

    async def give_back(self) -> None:
        self.leases -= 1
        self.free.set()

    async def leave_mode(self) -> None:
        self.in_mode = False

    async def paste(self, text: str) -> None:
        if self.paste_error is not None:
            raise self.paste_error
        self.pasted.append(text)
        self.draft += text

    async def press(self, keys: Sequence[str]) -> None:
        assert list(keys) == ["Enter"]
        assert self.leases == 1, "others could type"
        if self.deaf:
            self.deaf -= 1
            return
        if self.slow:
            asyncio.get_running_loop().call_later(self.slow, self.take)
        else:
            self.take()

    def take(self) -> None:
        self.taken.append(self.draft)
        self.draft = ""
        if self.asks_then:
            asks(self)
        self.wrote()

    async def press_if(self, keys: Sequence[str], shown: Sequence[str]) -> bool:
        raise NotImplementedError


def asks(terminal: Terminal) -> None:
    terminal.above = ["permission needed: may I?", "1. Yes", "2. No", "choose> 1 to 2"]


def play(act: Callable[[Typist, Terminal], Awaitable[None]], profile: Profile | None = None) -> Terminal:
    terminal = Terminal()

    async def go() -> None:
        async def profile_of(run: str) -> Profile | None:
            return profile

        typist = Typist(terminal, profile_of, lambda run: None)  # type: ignore[arg-type]
        terminal.wrote = lambda: typist.output("r1")
        await act(typist, terminal)
        typist.close()

    asyncio.run(go())
    return terminal


async def through(typist: Typist, message: str, text: str) -> list[Typing]:
    """All steps, as a daemon takes them."""
    return [
        await typist.begin("r1", message),
        await typist.paste("r1", message, text, enter=True, last=False),
        await typist.enter("r1", message),
        await typist.proof("r1", message),
    ]


def test_a_message_goes_all_the_way_with_proof() -> None:
    async def act(typist: Typist, terminal: Terminal) -> None:
        told = await through(typist, "m1", "hello")
        assert [(one.state, one.proved) for one in told] == [
            ("free", False),
            ("pasted", True),
            ("submitted", True),
            ("observed", True),
        ]
        assert not typist.is_typing("r1")

    terminal = play(act, demo())
    assert (terminal.taken, terminal.leases) == (["hello"], 0)


def test_a_step_that_is_asked_for_twice_is_done_once() -> None:
    async def act(typist: Typist, terminal: Terminal) -> None:
        for _ in range(2):
            assert (await typist.paste("r1", "m1", "hello", enter=True, last=False)).state == "pasted"
        for _ in range(2):
            assert (await typist.enter("r1", "m1")).state == "submitted"
        assert (await typist.paste("r1", "m1", "hello", enter=True, last=False)).state == "submitted"
        assert (await typist.recall("r1", "m1", "hello")).state == "submitted"

    terminal = play(act, demo())
    assert (terminal.pasted, terminal.taken) == (["hello"], ["hello"])


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (asks, "it waits for a person (permission)"),
        (lambda terminal: setattr(terminal, "draft", "half a"), "somebody is writing there"),
        (lambda terminal: terminal.watchers.append(Watcher(idle=0)), "somebody has just typed there"),
    ],
)
def test_nothing_is_typed_into_what_somebody_else_does(spoil: Callable[[Terminal], None], reason: str) -> None:
    async def act(typist: Typist, terminal: Terminal) -> None:
        spoil(terminal)
        for told in (
            await typist.begin("r1", "m1"),
            await typist.paste("r1", "m1", "hello", enter=True, last=False),
        ):
            assert (told.state, told.reason) == ("held", reason)
        assert (await typist.enter("r1", "m1")).state == "lost"

    terminal = play(act, demo())
    assert (terminal.pasted, terminal.taken, terminal.leases) == ([], [], 0)


def test_a_dialog_that_comes_up_after_the_paste_gets_no_enter() -> None:
    async def act(typist: Typist, terminal: Terminal) -> None:
        await typist.paste("r1", "m1", "hello", enter=True, last=False)
        asks(terminal)
        told = await typist.enter("r1", "m1")
        assert (told.state, told.reason) == ("held", "it waits for a person (permission)")
        terminal.above = []
        assert (await typist.enter("r1", "m1")).state == "submitted"

    assert play(act, demo()).taken == ["hello"]


def test_a_message_that_somebody_changed_or_took_away_is_not_entered() -> None:
    async def act(typist: Typist, terminal: Terminal) -> None:
        await typist.paste("r1", "m1", "hello", enter=True, last=False)
        terminal.draft = "hello, and more of mine"
        told = await typist.enter("r1", "m1")
        assert (told.state, "a person has to press Enter" in told.reason) == ("held", True)
        terminal.draft = ""
        assert (await typist.enter("r1", "m1")).state == "lost"

    terminal = play(act, demo())
    assert (terminal.taken, terminal.leases) == ([], 0)


def test_an_enter_that_was_not_heard_is_pressed_again_and_only_while_the_message_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(typists, "_TAKEN_SECONDS", 0.01)
    monkeypatch.setattr(typists, "_PROOF_SECONDS", 5.0)

    async def act(typist: Typist, terminal: Terminal) -> None:
        terminal.deaf = 2
        assert (await through(typist, "m1", "hello"))[-1].state == "observed"

    assert play(act, demo()).taken == ["hello"]


def test_nobody_types_into_a_message_that_is_entered_and_not_yet_taken() -> None:
    async def act(typist: Typist, terminal: Terminal) -> None:
        terminal.slow = 0.2
        await typist.paste("r1", "m1", "hello", enter=True, last=False)
        assert (await typist.enter("r1", "m1")).state == "submitted"
        assert (terminal.taken, terminal.leases) == ([], 1)
        assert (await typist.proof("r1", "m1")).state == "observed"
        assert (terminal.taken, terminal.leases) == (["hello"], 0)

    play(act, demo())


def test_the_keyboard_comes_back_when_what_was_entered_leads_to_a_dialog() -> None:
    async def act(typist: Typist, terminal: Terminal) -> None:
        terminal.slow = 0.1
        await typist.paste("r1", "m1", "remove it", enter=True, last=False)
        await typist.enter("r1", "m1")
        terminal.asks_then = True
        proof = asyncio.create_task(typist.proof("r1", "m1"))
        await asyncio.wait_for(terminal.free.wait(), 10)
        assert not proof.done(), "what became of it is not known yet, and somebody may answer the dialog"
        assert not typist.is_typing("r1")
        terminal.above.clear()
        terminal.wrote()
        assert (await proof).state == "observed"

    play(act, demo())


def test_one_that_ends_with_its_message_is_not_waited_for() -> None:
    async def act(typist: Typist, terminal: Terminal) -> None:
        terminal.asks_then = True  # no composer is there any more
        await typist.paste("r1", "m1", "leave", enter=True, last=False)
        await typist.enter("r1", "m1")
        proof = asyncio.create_task(typist.proof("r1", "m1"))
        await asyncio.wait_for(terminal.free.wait(), 10)
        terminal.look_error = CorralError("it has ended")
        typist.ended("r1")
        with pytest.raises(CorralError, match="it has ended"):
            await asyncio.wait_for(proof, 5)

    play(act, demo())


def test_what_comes_while_it_opens_its_conversation_waits() -> None:
    profile = replace(demo(), opening=("^Welcome",))

    async def act(typist: Typist, terminal: Terminal) -> None:
        terminal.above = ["Welcome to it"]
        assert [one.state for one in await through(typist, "m1", "hello")][-1] == "observed"
        held = await typist.begin("r1", "m2")
        assert (held.state, held.reason) == ("held", "it has not opened its conversation yet")
        assert held.again
        terminal.above = ["you: hello"]
        assert (await typist.begin("r1", "m2")).state == "free"

    play(act, profile)


def test_the_keyboard_comes_back_if_nobody_asks_for_the_proof_or_none_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typists, "_TAKEN_SECONDS", 0.1)
    monkeypatch.setattr(typists, "_PROOF_SECONDS", 0.5)

    async def act(typist: Typist, terminal: Terminal) -> None:
        terminal.slow = 60.0
        await typist.paste("r1", "m1", "hello", enter=True, last=False)
        await typist.enter("r1", "m1")
        await asyncio.wait_for(terminal.free.wait(), 10)
        assert (await typist.proof("r1", "m1")).state == "submitted"
        assert terminal.leases == 0

    play(act, demo())


def test_what_tmux_cannot_tell_is_lost_and_what_it_refused_may_be_tried_again() -> None:
    async def act(typist: Typist, terminal: Terminal) -> None:
        terminal.paste_error = UnavailableError("tmux is silent")
        with pytest.raises(UnavailableError):
            await typist.paste("r1", "m1", "hello", enter=True, last=False)
        assert (await typist.recall("r1", "m1", "hello")).state == "lost"
        terminal.paste_error = CorralError("its pane is gone")
        with pytest.raises(CorralError):
            await typist.paste("r1", "m2", "hello", enter=True, last=False)
        assert (await typist.recall("r1", "m2", "hello")).state == "none"

    assert play(act, demo()).pasted == []


def test_what_was_pasted_and_cannot_be_looked_at_counts_as_pasted() -> None:
    async def act(typist: Typist, terminal: Terminal) -> None:
        async def paste(text: str) -> None:
            terminal.pasted.append(text)
            terminal.look_error = CorralError("its session is gone")

        terminal.paste = paste  # type: ignore[method-assign]
        told = await typist.paste("r1", "m1", "hello", enter=True, last=False)
        assert (told.state, told.proved) == ("pasted", False)
        assert "its session is gone" in told.reason
        terminal.look_error = None
        assert (await typist.paste("r1", "m1", "hello", enter=True, last=False)).state == "pasted"

    assert play(act, demo()).pasted == ["hello"]


def test_what_was_given_up_is_not_pasted_unless_it_is_begun_anew() -> None:
    async def act(typist: Typist, terminal: Terminal) -> None:
        assert (await typist.recall("r1", "m1", "hello")).state == "none"
        with pytest.raises(RefusedError):
            await typist.paste("r1", "m1", "hello", enter=True, last=False)
        assert (await typist.begin("r1", "m1")).state == "free"
        assert (await typist.paste("r1", "m1", "hello", enter=True, last=False)).state == "pasted"

    assert play(act, demo()).pasted == ["hello"]


def test_what_an_earlier_keeper_pasted_is_known_by_the_screen() -> None:
    async def act(typist: Typist, terminal: Terminal) -> None:
        terminal.draft = "hello"
        assert await typist.recall("r1", "m1", "hello") == Typing(state="pasted", proved=True)
        assert (await typist.enter("r1", "m1")).state == "submitted"
        assert (await typist.proof("r1", "m1")).state == "observed"

    terminal = play(act, demo())
    assert (terminal.pasted, terminal.taken) == ([], ["hello"])


def test_of_a_program_that_nobody_knows_no_more_is_claimed_than_was_done() -> None:
    async def act(typist: Typist, terminal: Terminal) -> None:
        told = await through(typist, "m1", "hello")
        assert [(one.state, one.proved) for one in told[1:]] == [
            ("pasted", False),
            ("submitted", False),
            ("submitted", False),
        ]

    assert play(act).taken == ["hello"]
