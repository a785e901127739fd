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

from tests.faults.support.teams import DEMO, await_event, events, last_seq, ps, toml
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


def test_a_command_that_is_not_there_is_told_of_at_once_and_where_people_look(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": DEMO}}) + '\n[notify]\ncommand = ["./tell"]\n')
    (note,) = [note for note in instance.json("up")["notes"] if "[notify]" in note]
    assert str(Path(instance.directory, "tell")) in note
    number = ask(instance)
    assert told(instance, "command")["outcome"] == "failed"
    (shown,) = wait_for(lambda: ps(instance)["a"]["notices"], 10, "ps says that nobody was told")
    assert all(words in shown for words in ("by command", "127", "[notify]"))

    instance.run("inbox", "approve", str(number))
    tell = Path(instance.directory, "tell")
    tell.write_text("#!/bin/sh\n")
    tell.chmod(0o755)
    ask(instance)
    wait_for(lambda: not ps(instance)["a"]["notices"], 20, "somebody was told, and nothing more is said of it")


def test_a_command_that_fails_is_told_of(instance: Instance) -> None:
    up(instance, command=["sh", "-c", "echo no way >&2; exit 7"])
    ask(instance)
    failed = told(instance, "command")
    assert (failed["outcome"], failed["data"]["reason"]) == ("failed", "exit 7: no way")


def test_who_is_attached_hears_a_bell_and_reads_a_line(instance: Instance) -> None:
    up(instance, command=["true"])
    nobody_there = ask(instance)
    assert told(instance, "command")["data"]["entry"] == nobody_there
    instance.run("inbox", "approve", str(nobody_there))
    with AtTheKeyboard(instance.argv("attach", "a"), instance.environment(), instance.directory) as keyboard:
        instance.run("send", "a", "wait: 3\nask: may I?")
        # Also of what nobody was there to hear something would be told as done, if it were.
        assert told(instance, "terminal")["data"]["entry"] > nobody_there
        wait_for(lambda: b"\a" in keyboard.shown, 20, "the bell rings")
        wait_for(lambda: b"shop/a waits for you (permission)" in keyboard.shown, 20, "and a line is shown")


def test_a_desktop_that_cannot_be_reached_is_told_of_as_that(instance: Instance, own_directory: Path) -> None:
    program = own_directory / "notify-send"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    path = f"{own_directory}:{instance.environment()['PATH']}"
    instance.env |= {"PATH": path, "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere"}
    up(instance, desktop=True)
    ask(instance)
    failed = told(instance, "desktop")
    assert (failed["outcome"], failed["data"]["reason"]) == ("failed", "notify-send: exit 3")


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


def _stages(instance: Instance, kind: str, by: str) -> list[dict[str, Any]]:
    """What was told of that kind in this way: that it will be, and that it was."""
    for stage in ("announced", "done"):
        await_event(instance, "inbox.notified", seconds=60, kind=kind, by=by, stage=stage)
    return [one for one in events(instance) if one["event"] == "inbox.notified" and one["data"]["kind"] == kind]


def test_a_team_that_is_alone_is_told_of_where_people_are_also_if_nothing_is_done_to_it(instance: Instance) -> None:
    receiver = Receiver(refuse=0)
    with receiver.serving() as url:
        text = toml({"a": {"command": DEMO}}) + f'\n[notify]\nwebhook = "{url}"\n'
        instance.spec(text + '[supervision]\nunattended = { after = "2s", then = "notify", notice = "1s" }\n')
        instance.run("up")
        told_of = _stages(instance, "unattended", "webhook")
    assert [(one["outcome"], one["agent"], "entry" in one["data"]) for one in told_of] == [("ok", "", False)] * 2
    before, after = (body for _, body in receiver.posted)
    assert (before["kind"], before["team"], before["stage"], before["then"]) == (
        "unattended",
        "shop",
        "announced",
        "notify",
    )
    assert 0 < before["seconds"] <= 2
    assert (after["stage"], after["entry"], after["lines"], after["can"]) == ("done", None, [], [])
    assert after["text"] == "shop is alone: nobody has looked after this team for 2s"


def test_a_team_of_which_nothing_runs_is_no_news(instance: Instance) -> None:
    settings = '[notify]\ncommand = ["true"]\nfor = ["unattended"]\n'
    settings += '[supervision]\nunattended = { after = "2s", then = "notify", notice = "1s" }\n'
    instance.spec(toml({"a": {"command": "exit 0"}}) + settings)
    instance.run("up", check=False)
    await_event(instance, "team.unattended", stage="alone")
    assert ps(instance)["a"]["state"] == "stopped"
    instance.spec(toml({"b": {"command": DEMO}}) + settings)
    instance.run("up")
    started = await_event(instance, "agent.started", "b")
    told_of = _stages(instance, "unattended", "command")
    assert min(one["seq"] for one in told_of) > started["seq"]


def test_the_end_of_a_lifetime_is_told_of_before_and_after(instance: Instance, own_directory: Path) -> None:
    got = own_directory / "got"
    text = toml({"a": {"command": DEMO, "lifetime": "2s"}, "b": {"command": DEMO}})
    command = json.dumps(["sh", "-c", f"cat >> {got}"])
    instance.spec(f'{text}\n[notify]\ncommand = {command}\nfor = ["lifetime"]\n')
    instance.run("up")
    told_of = _stages(instance, "lifetime", "command")
    assert [(one["agent"], one["outcome"], one["data"]["stage"]) for one in told_of] == [
        ("a", "ok", "announced"),
        ("a", "ok", "done"),
    ]
    before, after = map(json.loads, got.read_text().splitlines())
    assert (before["agent"], before["lifetime"], before["stage"]) == ("a", 2.0, "announced")
    assert after["text"].startswith("shop/a is stopped: its lifetime of 2s is over")


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
