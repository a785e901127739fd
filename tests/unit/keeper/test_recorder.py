"""Output on its way to the disk: in bursts, and never more in memory than a burst."""

import asyncio

import pytest

from corral.domain import last_question
from corral.domain.masking import Masker
from corral.keeper.recorder import Recorder
from corral.ports.output import LogEntry, LogPage


class Log:
    """Counts what is held and what is written."""

    def __init__(self) -> None:
        self.held = self.most_held = self.writes = 0
        self.of: list[tuple[str, int] | None] = []
        self.text = b""

    @property
    def dirty(self) -> bool:
        return self.held > 0

    def add(self, time: float, data: bytes, of: tuple[str, int] | None = None) -> None:
        self.text += data
        self.held += len(data)
        self.most_held = max(self.held, self.most_held)
        self.of.append(of)

    def flush(self) -> None:
        self.held = 0
        self.writes += 1

    def recorded(self, run: str) -> int:
        return 7

    def read(self, *, after: int | None, lines: int | None, since: float | None) -> LogPage:
        return LogPage(entries=[LogEntry(time=0.0, text=self.text.decode())], next=0)

    def close(self) -> None:
        """Nothing is held open."""


def recorder_of(log: Log, *secrets: str) -> Recorder:
    return Recorder(
        log, lambda: Masker(secrets, lambda _: 3), on_activity=lambda word, at: None, on_trouble=lambda why: None
    )


def test_small_pieces_are_written_together() -> None:
    async def scenario() -> None:
        log = Log()
        recorder = recorder_of(log)
        for _ in range(100):
            recorder.add(b"x" * 100)
        assert (log.held, log.writes) == (10_000, 0)
        recorder.ended()
        assert (log.held, log.writes) == (0, 1)

    asyncio.run(scenario())


def test_however_much_comes_at_once_no_more_than_a_burst_is_held() -> None:
    async def scenario() -> None:
        log = Log()
        recorder = recorder_of(log)
        for _ in range(100):
            recorder.add(b"x" * (1 << 18), ("0123456789ab", 1))
        assert log.most_held <= 1 << 20
        assert log.writes == 25
        recorder.ended()

    asyncio.run(scenario())


def test_what_is_from_no_terminal_is_kept_as_it_is_and_with_its_position() -> None:
    async def scenario() -> None:
        log = Log()
        recorder = recorder_of(log)
        question = last_question.QUESTION
        recorder.add(question)
        assert log.held == 0, "it was the launch shell that asked the terminal"
        recorder.add(question, ("0123456789ab", 4))
        assert (log.held, log.of[-1]) == (len(question), ("0123456789ab", 4))
        assert recorder.recorded("0123456789ab") == 7
        assert log.held == 0, "what is recorded is on the disk"
        recorder.ended()

    asyncio.run(scenario())


def test_what_is_written_down_has_no_secrets_in_whatever_pieces_they_come() -> None:
    async def scenario() -> None:
        log = Log()
        recorder = recorder_of(log, "hunter2-secret")
        for piece in (b"it is hun", b"ter2-", b"sec", b"ret, and hunt", b"ing"):
            recorder.add(piece)
        recorder.ended()
        assert log.text == b"it is hun********, and hunting"

    asyncio.run(scenario())


def test_what_is_held_back_counts_as_not_written_until_it_is() -> None:
    async def scenario() -> None:
        log = Log()
        recorder = recorder_of(log, "hunter2-secret")
        recorder.add(b"it is hunter", ("run", 12))
        assert (log.text, log.of[-1]) == (b"it is ", ("run", 6))
        recorder.ended()
        assert (log.text, log.of[-1]) == (b"it is hunter", ("run", 12))

    asyncio.run(scenario())


def test_what_becomes_a_secret_later_is_masked_from_then_on() -> None:
    async def scenario() -> None:
        log, secrets = Log(), ["another-one"]
        recorder = Recorder(log, lambda: Masker(secrets), on_activity=lambda *_: None, on_trouble=lambda _: None)
        recorder.add(b"another-")
        secrets.append("hunter2-secret")
        recorder.mask_anew()
        recorder.add(b"one hunter2-secret\n")
        recorder.ended()
        assert log.text == b"******** ********\n"

    asyncio.run(scenario())


def test_the_screen_that_a_new_keeper_finds_is_compared_and_noted_without_secrets() -> None:
    async def scenario() -> None:
        log = Log()
        log.text = b"the key: ********\n"
        recorder = recorder_of(log, "hunter2-secret")
        recorder.taken_over(["the key: hunter2-secret", "again: hunter2-secret"])
        assert log.text.count(b"the key") == 1
        assert b"again: ********" in log.text
        assert b"hunter2" not in log.text
        recorder.close()

    asyncio.run(scenario())


def test_of_a_run_that_was_over_before_a_new_keeper_came_nothing_is_said_where_nothing_is_missing() -> None:
    async def scenario(screen: list[str], *, over: bool) -> bytes:
        log = Log()
        log.text = b"first\nlast words\n"
        recorder_of(log).taken_over(screen, over=over)
        return log.text.removeprefix(b"first\nlast words\n")

    shown = ["first", "last words"]
    assert asyncio.run(scenario(shown, over=True)) == b""
    assert b"interrupted here" in asyncio.run(scenario(shown, over=False))
    missing = asyncio.run(scenario([*shown, "and more"], over=True))
    assert missing.split() == b"[corral: recording was interrupted here] and more".split()


def test_however_often_keepers_come_and_go_each_line_is_recorded_once() -> None:
    async def scenario() -> bytes:
        log = Log()
        shown: list[str] = []
        for keeper in range(4):
            recorder = recorder_of(log)
            shown += [f"unheard {keeper}", "ok"] if keeper else []
            recorder.taken_over(shown)
            for word in (f"heard {keeper}", "ok"):
                shown.append(word)
                recorder.add(word.encode() + b"\r\n")
            recorder.close()
        return log.text

    lines = asyncio.run(scenario()).decode().split("\r\n")
    said = [line for line in lines if line and line != "[corral: recording was interrupted here]"]
    assert said == ["heard 0", "ok"] + [
        word for keeper in (1, 2, 3) for word in (f"unheard {keeper}", "ok", f"heard {keeper}", "ok")
    ]


@pytest.mark.parametrize("rest", [b"", b"the end\r\n", b"goes on\r\nthe end\r\n"])
def test_one_that_ends_after_another_keeper_came_is_not_recorded_again(rest: bytes) -> None:
    async def scenario() -> bytes:
        log = Log()
        log.text = b"first\r\nthe prompt: "
        recorder = recorder_of(log)
        recorder.taken_over(["first", "the prompt: "])
        if rest:
            recorder.add(rest)
        screen = ["first", *(b"the prompt: " + rest).decode().split("\r\n")]
        recorder.complete([line for line in screen if line])
        recorder.close()
        return log.text

    text = asyncio.run(scenario())
    assert (text.count(b"first"), text.count(b"the prompt"), text.count(b"the end")) == (1, 1, int(bool(rest)))
