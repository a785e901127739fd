"""`corral msg` as a person, a script and an agent use it, and what becomes of messages when the daemon is killed."""

import getpass
import http.client
import json
import os
import signal
import socket
import threading
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

import pytest

from tests.faults.support.population import kill_daemon
from tests.faults.support.teams import IDLE, toml
from tests.support.instance import Instance
from tests.support.mcp_agent import run, started

ME = f"@{getpass.getuser()}"


@pytest.fixture(autouse=True)
def _up(instance: Instance) -> None:
    instance.spec(toml({"api": {"command": IDLE}, "builder": {"command": IDLE, "count": 2}}))
    instance.run("up")


def inside(instance: Instance, agent: str) -> dict[str, str]:
    """What a program in an agent has in its environment."""
    identity = json.loads(instance.run("daemon", "status", "--json").stdout)["instance"]
    return {"CORRAL_TEAM": "shop", "CORRAL_AGENT": agent, "CORRAL_INSTANCE": identity}


def test_an_agent_asks_a_person_and_gets_an_answer(instance: Instance) -> None:
    api = inside(instance, "api")
    said = instance.run("msg", "send", ME, "-s", "a choice", "-m", "which of the two?", env=api).stdout
    asked = said.partition(":")[0]
    assert said == f"{asked}: stored for {ME}\n"
    listed = instance.run("msg", "inbox").stdout
    assert "shop/api" in listed
    assert "a choice" in listed
    assert instance.run("msg", "read", asked).stdout == "which of the two?"
    instance.run("msg", "send", "--reply-to", asked, input="the second\n")
    instance.run("msg", "ack", asked, "--note", "answered")
    assert instance.run("msg", "inbox").stdout == ""
    shown = instance.run("msg", "show", asked, env=api).stdout
    assert f"{ME}: acked: answered" in shown
    (answer,) = json.loads(instance.run("msg", "inbox", "--json", env=api).stdout)["messages"]
    assert (answer["from"], answer["reply_to"], answer["state"]) == (ME, asked, "stored")
    assert "acked" in instance.run("msg", "ls", "--sent", env=api).stdout


def test_to_a_role_and_to_all_and_in_the_name_of_an_agent(instance: Instance) -> None:
    sent = instance.json("msg", "send", "role:builder", "--agent", "builder-1", "-m", "x")
    assert [one["to"] for one in sent["recipients"]] == ["shop/builder-2"]
    sent = instance.json("msg", "send", "all", "-m", "x")
    assert [one["to"] for one in sent["recipients"]] == ["shop/api", "shop/builder-1", "shop/builder-2"]
    assert len(instance.json("msg", "inbox", "--agent", "shop/builder-2")["messages"]) == 2


def test_what_is_wrong_is_said_with_the_right_code(instance: Instance) -> None:
    code, error = instance.error("msg", "send", "api", "builder", "@nobody", "-m", "x")
    assert (code, error["unknown"]) == (3, ["builder", "@nobody"])
    assert "role:builder" in error["remedy"]
    assert instance.json("msg", "inbox", "--agent", "api")["messages"] == []
    assert instance.error("msg", "read", "m999999")[0] == 3
    assert instance.error("msg", "read", "../agents")[0] == 3
    assert instance.error("msg", "send", "-m", "x")[0] == 2
    assert instance.error("msg", "ls")[0] == 2
    assert instance.run("msg", "send", "api", input=b"\xff", check=False).returncode == 2
    assert instance.run("msg", "send", "api", input=b"x" * ((1 << 20) + 1), check=False).returncode == 2
    assert instance.error("msg", "send", "api", "-m", "-")[0] == 2, "standard input is empty"


def test_a_message_of_a_mebibyte_goes_through(instance: Instance) -> None:
    text = "ä\n" * ((1 << 20) // 3)
    sent = json.loads(instance.run("msg", "send", "api", "--json", input=text).stdout)
    assert instance.run("msg", "read", sent["message"], "--agent", "api").stdout == text


def test_a_wait_ends_with_what_comes_and_two_who_wait_for_each_other_are_told(instance: Instance) -> None:
    """Who comes second closes the cycle and is refused; which of them that is nobody can say."""
    partner = {"api": "builder-1", "builder-1": "api"}
    with ThreadPoolExecutor(max_workers=2) as people:
        waits = {
            agent: people.submit(
                instance.run,
                *("msg", "inbox", "--agent", agent, "--wait", "60", "--from", other, "--json"),
                check=False,
            )
            for agent, other in partner.items()
        }
        wait(waits.values(), return_when=FIRST_COMPLETED)
        (refused,) = [agent for agent, done in waits.items() if done.done()]
        told = waits[refused].result()
        assert told.returncode == 4
        assert json.loads(told.stderr)["error"]["cycle"] == [f"shop/{refused}", f"shop/{partner[refused]}"]
        instance.run("msg", "send", partner[refused], "--agent", refused, "-m", "go on")
        heard = waits[partner[refused]].result()
    assert json.loads(heard.stdout)["messages"][0]["preview"] == "go on"


def test_mail_stays_when_the_team_goes_down_and_is_there_when_it_is_up_again(instance: Instance) -> None:
    message = instance.json("msg", "send", "api", "-m", "x")["message"]
    instance.run("down")
    kill_daemon(instance)
    instance.run("up")
    assert [one["message"] for one in instance.json("msg", "inbox", "--agent", "api")["messages"]] == [message]


def test_two_models_talk_over_the_mcp_server(instance: Instance) -> None:
    """The client of the SDK checks every answer against its schema."""

    async def talk() -> None:
        whose = {agent: {**instance.environment(), **inside(instance, agent)} for agent in ("api", "builder-1")}
        async with started(whose["api"]) as api, started(whose["builder-1"]) as builder:
            asked = (await api.call("message_send", to=["role:builder"], text="which?", subject="a choice"))["message"]
            assert asked in await builder.text("message_inbox", wait=30)
            assert "which?" in await builder.text("message_read", message=asked)
            await builder.call("message_send", text="the second", reply_to=asked)
            await builder.call("message_ack", message=asked, note="answered")
            (answer,) = (await api.call("message_inbox", wait=30, **{"from": "builder-1"}))["messages"]
            assert (answer["from"], answer["reply_to"]) == ("shop/builder-1", asked)
            assert "there are: shop/builder-1" in await api.error("message_send", to=["nobody"], text="x")
            put = await api.call("kv_put", key="choice", value="second")
            assert "second" in await builder.text("kv_get", key="choice")
            seen = await builder.call("kv_watch", after=put["revision"] - 1)
            assert seen["changes"][0]["by"] == "shop/api"
            revision = (await api.call("topic_publish", topic="news", text="done"))["revision"]
            page = await builder.call("topic_read", topic="news", after=0)
            assert [(one["revision"], one["by"]) for one in page["entries"]] == [(revision, "shop/api")]

    run(talk)


class Correspondent(threading.Thread):
    """Sends to all, as fast as it is answered, and acks each that it was answered for; until nobody answers."""

    def __init__(self, path: str, agent: str) -> None:
        super().__init__()
        self._path = path
        self._agent = agent
        #: What it was told: messages that were sent, and of these those that builder-1 acked.
        self.sent: list[str] = []
        self.acked: list[str] = []

    def run(self) -> None:
        connection = http.client.HTTPConnection("corral")
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(self._path)

        def ask(path: str, body: object) -> dict[str, str]:
            connection.request("POST", path, json.dumps(body))
            answer = connection.getresponse()
            content = answer.read()
            assert answer.status == 200, content
            told: dict[str, str] = json.loads(content)
            return told

        try:
            while True:
                body = {"to": ["builder-1", "builder-2"], "text": f"{self._agent} {len(self.sent)}"}
                message = ask(f"/v1/messages?team=shop&agent={self._agent}", body)["message"]
                self.sent.append(message)
                if len(self.sent) % 2:
                    ask(f"/v1/messages/{message}/ack?team=shop&agent=builder-1", {})
                    self.acked.append(message)
        except (OSError, http.client.HTTPException):
            connection.close()


def test_nothing_that_was_answered_is_lost_when_the_daemon_is_killed_under_load(instance: Instance) -> None:
    path = os.path.join(instance.runtime, "daemon.sock")
    senders = [Correspondent(path, "api") for _ in range(8)]
    for sender in senders:
        sender.start()
    senders[0].join(1.0)
    os.kill(instance.json("daemon", "status")["pid"], signal.SIGKILL)
    for sender in senders:
        sender.join()
    instance.run("daemon", "start")
    told = [message for sender in senders for message in sender.sent]
    acked = {message for sender in senders for message in sender.acked}
    assert len(told) > 20
    assert len(set(told)) == len(told), "no id is given twice"
    sent = instance.json("msg", "ls", "--sent", "--agent", "api", "--limit", "1000")["messages"]
    states = {one["message"]: {each["to"]: each["state"] for each in one["recipients"]} for one in sent}
    # Of very many the last are listed; nothing in between may be missing.
    first = int(sent[0]["message"][1:])
    for message in told:
        if int(message[1:]) < first:
            assert len(sent) == 1000
            continue
        assert states[message]["shop/builder-2"] == "stored"
        if message in acked:
            assert states[message]["shop/builder-1"] == "acked"
    after = instance.json("msg", "send", "api", "-m", "x")["message"]
    assert int(after[1:]) > max(int(message[1:]) for message in told)
