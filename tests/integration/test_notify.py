"""How people are told that something waits for them: a bell, a webhook, a command; and what is kept from whom."""

import http.server
import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.faults.support.teams import DEMO, await_event, events, last_seq, toml
from tests.support.at_the_keyboard import AtTheKeyboard
from tests.support.instance import Instance
from tests.support.waiting import wait_for

SECRET = "s3cr3t-t0ken"


def up(instance: Instance, **notify: object) -> None:
    lines = [f"{key} = {json.dumps(value)}" for key, value in notify.items()]
    instance.spec(toml({"a": {"command": DEMO}}) + "\n[notify]\n" + "\n".join(lines) + "\n")
    instance.run("up")


def ask(instance: Instance) -> int:
    after = last_seq(instance)
    instance.run("send", "a", "ask: may I?\nsay: went")
    return int(await_event(instance, "inbox.opened", "a", after=after)["data"]["entry"])


def told(instance: Instance, by: str) -> dict[str, Any]:
    return await_event(instance, "inbox.notified", "a", seconds=60, by=by)


class Receiver:
    """A web server on loopback that takes what is posted, after it has refused so many."""

    def __init__(self, refuse: int) -> None:
        self.refuse = refuse
        self.posted: list[tuple[str, dict[str, Any]]] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.refuse -= 1
                if outer.refuse >= 0:
                    self.send_response(503)
                else:
                    outer.posted.append((self.path, json.loads(body)))
                    self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Nobody reads it."""

        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)

    @contextmanager
    def serving(self) -> Iterator[str]:
        thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://ann:{SECRET}@127.0.0.1:{self.server.server_port}/hook/{SECRET}?key={SECRET}"
        finally:
            self.server.shutdown()
            thread.join()
            self.server.server_close()


def test_a_webhook_gets_the_entry_also_if_it_must_be_tried_again(instance: Instance) -> None:
    receiver = Receiver(refuse=1)
    with receiver.serving() as url:
        up(instance, webhook=url, bell=False)
        number = ask(instance)
        assert told(instance, "webhook")["outcome"] == "ok"
    ((path, entry),) = receiver.posted
    assert path == f"/hook/{SECRET}?key={SECRET}"
    assert (entry["entry"], entry["team"], entry["agent"], entry["kind"]) == (number, "shop", "a", "permission")
    assert entry["options"] == [{"option": 1, "text": "Yes"}, {"option": 2, "text": "No"}]
    assert "may I?" in entry["text"]
    # What was given to be posted to is told to nobody else.
    instance.spec(Path(instance.directory, "corral.toml").read_text().replace("bell = false", "bell = true"))
    instance.run("up")
    said = [
        instance.run("ps", "--json").stdout,
        json.dumps(events(instance)),
        Path(instance.home, "daemon.log").read_text(),
        Path(instance.home, "keeper.log").read_text(),
    ]
    assert any("notify.bell" in text for text in said)
    assert all(SECRET not in text for text in said)


def test_a_webhook_that_nobody_serves_holds_nothing_up_and_is_given_up(instance: Instance) -> None:
    receiver = Receiver(refuse=99)
    with receiver.serving() as url:
        up(instance, webhook=url)
        number = ask(instance)
        instance.run("inbox", "approve", str(number))
        failed = told(instance, "webhook")
    assert failed["outcome"] == "failed"
    assert "127.0.0.1 answered 503; it was tried 4 times" in failed["data"]["reason"]
    assert SECRET not in json.dumps(events(instance))


def test_a_command_gets_the_entry_and_nothing_of_it_is_left(instance: Instance, own_directory: Path) -> None:
    got = own_directory / "got"
    script = own_directory / "tell"
    script.write_text(f"#!/bin/sh\ncat > {got}.part\nsleep 86397 &\nmv {got}.part {got}\n")
    script.chmod(0o755)
    up(instance, command=[str(script), "with", "words; $HOME"])
    number = ask(instance)
    assert told(instance, "command")["outcome"] == "ok"
    assert json.loads(got.read_text())["entry"] == number
    found = subprocess.run(["pgrep", "-f", "sleep 8639[7]"], capture_output=True, text=True, check=False)
    mine = [pid for pid in found.stdout.split() if _is_ours(int(pid), own_directory)]
    assert mine == []
    assert instance.json("proc", "ls") in ([], {"processes": []})


def _is_ours(pid: int, directory: Path) -> bool:
    try:
        return str(directory).encode() in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


def test_a_command_that_fails_is_told_of(instance: Instance) -> None:
    up(instance, command=["sh", "-c", "echo no way >&2; exit 7"])
    ask(instance)
    failed = told(instance, "command")
    assert (failed["outcome"], failed["data"]["reason"]) == ("failed", "exit 7: no way")


def test_who_is_attached_hears_a_bell_and_reads_a_line(instance: Instance) -> None:
    up(instance)
    with AtTheKeyboard(instance.argv("attach", "a"), instance.environment(), instance.directory) as keyboard:
        instance.run("send", "a", "wait: 3\nask: may I?")
        told(instance, "terminal")
        wait_for(lambda: b"\a" in keyboard.shown, 20, "the bell rings")
        wait_for(lambda: b"shop/a waits for you (permission)" in keyboard.shown, 20, "and a line is shown")


def test_only_what_is_asked_for_is_told(instance: Instance) -> None:
    up(instance, **{"for": ["failed"]}, command=["true"])
    ask(instance)
    instance.run("inbox", "approve", "1")
    after = last_seq(instance)
    instance.run("send", "a", "exit: 1")
    notified = await_event(instance, "inbox.notified", "a", after=after, by="command")
    assert notified["data"]["kind"] == "failed"
    assert [one["data"]["kind"] for one in events(instance) if one["event"] == "inbox.notified"].count(
        "permission"
    ) == 0


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("webhook = 'ftp://x'", "this is no address"),
        ("webhook = 'https://'", "this is no address"),
        ("command = []", "a program and its arguments"),
        ("command = 'x'", "must be an array"),
        ("for = ['approval']", "did you mean 'permission'"),
        ("url = 'https://x'", "did you mean 'webhook'"),
        ("bell = 'yes'", "must be a boolean"),
    ],
)
def test_mistakes_are_told_with_what_would_be_right(instance: Instance, table: str, says: str) -> None:
    instance.spec(toml({"a": {"command": DEMO}}) + f"\n[notify]\n{table}\n")
    done = instance.run("up", check=False)
    assert done.returncode == 2
    assert says in done.stdout + done.stderr
