"""What agents print and what they are given: any bytes at all, and none of them may confuse anybody."""

import hashlib
import os
import random
from pathlib import Path

import pytest

from tests.faults.support.population import assert_one_of_each, environment
from tests.faults.support.teams import DEMO, IDLE, await_event, down, ps, states, toml
from tests.support.instance import Instance
from tests.support.streams import Stream
from tests.support.waiting import wait_for

#: Lines that mean something to a control client if they are taken for tmux's own.
_LOOK_ALIKES = (
    b"%end 1 2 3\n%error 1 2 1\n%exit\n%exit because\n%output %0 forged\n%begin 1 2 1\n%end 1 2 1\n"
    b"%extended-output %1 0 : forged\n%pause %0\n%session-changed $0 _hub\n%window-close @0\n\\033\\134\n"
)


def _printing(instance: Instance, directory: Path, data: bytes) -> None:
    """Start an agent `a` that prints these bytes, says that it is done and stays, and an idle one beside it."""
    (directory / "data").write_bytes(data)
    script = "stty -opost; cat data; printf 'that was all\\r\\n'; exec sleep 86400"
    instance.spec(toml({"a": {"command": ["sh", "-c", script]}, "b": {"command": IDLE}}))
    instance.run("up")
    with instance.follow("logs", "-f", "-n", "all", "a") as logs:
        while not logs.line(30).endswith("that was all"):
            pass


def test_lines_that_look_like_tmux_speaking_are_only_output(instance: Instance, own_directory: Path) -> None:
    _printing(instance, own_directory, _LOOK_ALIKES * 50)
    assert_one_of_each(instance, {"a", "b"})
    kept = instance.run("logs", "-n", "all", "--raw", "a").stdout
    assert kept.encode().startswith(_LOOK_ALIKES * 50)
    screen = instance.run("logs", "--screen", "a").stdout
    assert "%exit because" in screen
    assert "%end 1 2 3" in screen
    instance.run("send", "b", "hello")
    down(instance)


def test_look_alikes_as_last_words_do_not_end_the_answer_early(instance: Instance, own_directory: Path) -> None:
    (own_directory / "data").write_bytes(_LOOK_ALIKES)
    script = "cat data; echo the end; sleep 0.3; exit 4"
    instance.spec(toml({"a": {"command": ["sh", "-c", script]}, "b": {"command": IDLE}}))
    instance.run("up", check=False)
    exited = await_event(instance, "agent.exited", "a")
    assert exited["data"]["exit_code"] == 4
    assert exited["data"]["last_words"].endswith("the end")
    assert "%end 1 2 1" in exited["data"]["last_words"]
    assert states(instance) == {"a": "failed", "b": "running"}


def test_every_byte_there_is_and_text_that_is_no_text(instance: Instance, own_directory: Path) -> None:
    source = random.Random(7)
    noise = bytes(source.randrange(256) for _ in range(200_000))
    # What would switch the terminal itself into another state is left out at the end, so that the mark is seen.
    data = noise + b"\x18\x1bc\x0f\r\n"
    _printing(instance, own_directory, data)
    assert_one_of_each(instance, {"a", "b"})
    done = instance.run("logs", "-n", "all", "--raw", "a")
    expected = data.decode("utf-8", "replace")
    assert done.stdout.startswith(expected[:1000])
    instance.run("logs", "-n", "all", "a")
    instance.run("logs", "--screen", "a")
    instance.run("send", "a", "hello")
    down(instance)


def test_a_mebibyte_without_a_line_end(instance: Instance, own_directory: Path) -> None:
    data = b"0123456789abcdef" * (1 << 16)
    _printing(instance, own_directory, data)
    kept = instance.run("logs", "-n", "all", "--raw", "a").stdout
    assert kept.startswith(data.decode())
    assert_one_of_each(instance, {"a", "b"})


_VALUES = {
    "QUOTES": 'it\'s "quoted" `twice` \\ and \\\\',
    "LINES": "first\nsecond\n\n  fourth \n",
    "SHELL_CODE": "$(touch pwned) `touch pwned` ${HOME} $HOME; touch pwned & | > pwned",
    "UNICODE": "été 日本 🐎 \u202e \u00a0",
    "EMPTY": "",
    "BLANKS": "  \t ",
    "TMUX_WORDS": "#{pane_id} #(touch pwned) ; kill-server ; %if",
    "CONTROL": "\x01\x1b[31m\x7f\r",
    "LONG": "x" * 100_000,
}


def test_values_of_variables_arrive_byte_for_byte(instance: Instance, own_directory: Path) -> None:
    instance.spec(toml({"a": {"command": IDLE, "env": _VALUES}}))
    instance.run("up")
    assert_one_of_each(instance, {"a"})
    found = environment(ps(instance)["a"]["pid"])
    assert {name: found.get(name) for name in _VALUES} == _VALUES
    instance.run("restart", "a")
    assert_one_of_each(instance, {"a"})
    found = environment(ps(instance)["a"]["pid"])
    assert {name: found.get(name) for name in _VALUES} == _VALUES
    assert not list(own_directory.rglob("pwned"))


def test_the_callers_variables_arrive_and_what_cannot_be_handed_on_is_named(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE}}))
    instance.run("daemon", "start")
    odd = {
        "FUNNY": "a\nb'c\"$(x)",
        "NO_TEXT": os.fsdecode(b"caf\xe9 \xff\xfe"),
        "BASH_FUNC_x%%": "() { :; }",
        "with-dash": "1",
        "TMUX": "/tmp/somebody/else,1,0",
        "TERM": "dumb-as-a-post",
    }
    done = instance.run("up", env=odd)
    assert "NO_TEXT" in done.stderr
    assert_one_of_each(instance, {"a"})
    found = environment(ps(instance)["a"]["pid"])
    assert found["FUNNY"] == odd["FUNNY"]
    assert "TMUX" not in found
    assert found["TERM"] != odd["TERM"]
    assert found["CORRAL_AGENT"] == "a"


_WORDS = [
    "", ";", "a;", "a b", "'", '"', "\\", "$HOME", "$(touch pwned)", "`x`", "*", "~", "#{x}", "%1", "é\n日", "-x", "\t",
    "a;;", "{", "}",
]  # fmt: skip


def test_words_of_a_command_arrive_as_they_are(instance: Instance, own_directory: Path) -> None:
    script = 'for word; do printf "%s\\0" "$word"; done >words; exec sleep 86400'
    instance.spec(toml({"a": {"command": ["sh", "-c", script, "sh", *_WORDS]}}))
    instance.run("up")
    words = own_directory / "words"
    wait_for(lambda: words.exists() and words.read_bytes().endswith(b"}\0"), 5)
    assert words.read_bytes().decode().split("\0")[:-1] == _WORDS
    assert not list(own_directory.rglob("pwned"))


def test_a_program_whose_name_needs_quoting_is_found(instance: Instance, own_directory: Path) -> None:
    for name in ("it's; a $(pro)gram", "-dash", "ünï"):
        program = own_directory / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text("#!/bin/sh\nexec sleep 86400\n")
        program.chmod(0o755)
    names = [str(path) for path in (own_directory / "bin").iterdir()]
    instance.spec(toml({f"a{number}": {"command": [name]} for number, name in enumerate(names)}))
    instance.run("up")
    assert_one_of_each(instance, {"a0", "a1", "a2"})


def _assert_received(logs: Stream, number: int, text: str) -> None:
    """The demo agent says of message `number` that it is `text`."""
    raw = text.encode()
    while not (line := logs.line()).startswith(f"message {number}: "):
        pass
    assert line == f"message {number}: {len(raw)} bytes, sha256 {hashlib.sha256(raw).hexdigest()[:12]}"


def _demo(instance: Instance) -> None:
    """Start a demo agent that has had its first message."""
    instance.spec(toml({"a": {"command": DEMO, "prompt": "say: I am ready"}}))
    instance.run("up")
    await_event(instance, "prompt.submitted", "a")


_MESSAGES = {
    "plain": "hello",
    "trailing semicolon": "do this;",
    "only a semicolon": ";",
    "escaped semicolon": "a \\;",
    "lines": "first\nsecond\n\n\nlast",
    "line end": "one\n",
    "tabs": "a\tb\t\tc",
    "unicode": "été 日本語 🐎👩‍👩‍👧 \u202eright to left\u202c e\u0301 \u00a0\ufeff",
    "tmux words": "#{pane_id} #(date) %if 1 ~ $HOME {} '\" \\",
    "blanks": "   in the middle   ",
    "dashes": "--help",
    "long line": "x" * 70_000,
    "many lines": "\n".join(f"line {number}" for number in range(5000)),
}


@pytest.mark.slow
def test_messages_arrive_byte_for_byte(instance: Instance) -> None:
    _demo(instance)
    with instance.follow("logs", "-f", "-n", "all", "a") as logs:
        for number, text in enumerate(_MESSAGES.values(), 2):
            sent = instance.run("send", "a", "--json", input=text)
            assert '"submitted"' in sent.stdout
            _assert_received(logs, number, text)
        instance.run("send", "a", "say:", "joined", "words;")
        _assert_received(logs, len(_MESSAGES) + 2, "say: joined words;")


@pytest.mark.slow
def test_a_mebibyte_arrives_and_one_byte_more_is_refused(instance: Instance) -> None:
    source = random.Random(3)
    text = "".join(source.choices("abc é日🐎\n;$\\'\"", k=500_000)).encode()[: (1 << 20) - 1].decode("utf-8", "ignore")
    text += "." * ((1 << 20) - len(text.encode()))
    _demo(instance)
    with instance.follow("logs", "-f", "-n", "all", "a") as logs:
        instance.run("send", "a", input=text)
        _assert_received(logs, 2, text)
    for refused in (text + ".", "", b"\xff\xfe"):
        done = instance.run("send", "a", input=refused, check=False)
        assert done.returncode == 2, refused[:10]
    assert_one_of_each(instance, {"a"})


def test_escape_sequences_in_a_message_are_shown_and_not_obeyed(instance: Instance, own_directory: Path) -> None:
    _demo(instance)
    hostile = "\x1b[201~\rwrite seen: yes\r\x03\x04\x1b]0;title\x07\x9b201~ end\x7f\x00"
    with instance.follow("logs", "-f", "-n", "all", "a") as logs:
        instance.run("send", "a", input=hostile)
        _assert_received(logs, 2, "␛[201~\nwrite seen: yes\n␃␄␛]0;title␇\ufffd201~ end␡␀")
        while logs.line() != "done.":
            pass
    assert_one_of_each(instance, {"a"})  # no Ctrl-D reached it


def test_a_program_that_asked_for_no_brackets_gets_the_plain_lines(instance: Instance, own_directory: Path) -> None:
    script = "stty -echo; while read -r line; do printf '%s\\n' \"$line\" >>got; done"
    instance.spec(toml({"a": {"command": ["sh", "-c", script]}}))
    instance.run("up")
    instance.run("send", "a", input="one\ntwo;\nthree")
    got = own_directory / "got"
    wait_for(lambda: got.exists() and got.read_text().count("\n") == 3, 10)
    assert got.read_text() == "one\ntwo;\nthree\n"
