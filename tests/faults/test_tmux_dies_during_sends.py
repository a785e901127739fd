"""The tmux server is killed in the middle of a message: never typed again, and what waits behind it is not lost."""

import os
import signal

import pytest

from tests.faults.support.population import tmux_servers
from tests.faults.support.teams import DEMO, await_event, down, last_seq, ps, toml
from tests.support import processes
from tests.support.instance import Instance
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.tmux, pytest.mark.slow]


@pytest.mark.parametrize("event", ["message.sending", "message.pasted"])
def test_a_server_killed_in_the_middle_of_a_message(instance: Instance, event: str) -> None:
    instance.spec(toml({"a": {"command": DEMO, "workspace": "shared", "restart": "always"}}))
    instance.run("up")
    instance.run("send", "--wait", "observed", "a", "say: before")
    # It takes nothing more, so the message is in the middle until somebody ends that.
    os.kill(ps(instance)["a"]["pid"], signal.SIGSTOP)
    after = last_seq(instance)
    first = instance.json("send", "--wait", "queued", "a", "say: word one")["message"]
    second = instance.json("send", "--wait", "queued", "a", "say: word two")["message"]
    await_event(instance, event, "a", after=after)
    (server,) = tmux_servers(instance)
    processes.kill(server)
    await_event(instance, "agent.exited", "a", after=after)

    def ended(message: str) -> dict[str, object] | None:
        receipt: dict[str, object] = instance.json("send", "--status", message)
        return receipt if receipt["state"] in ("observed", "unknown", "failed") else None

    interrupted = wait_for(lambda: ended(first), 60, "an end of the first")
    assert interrupted["state"] in ("unknown", "observed"), interrupted
    # What waited goes to the agent that is back.
    assert wait_for(lambda: ended(second), 60, "an end of the second")["state"] == "observed"
    lines = instance.run("logs", "--lines", "all", "a").stdout.splitlines()
    assert lines.count("word one") == (1 if interrupted["state"] == "observed" else 0), lines
    assert lines.count("word two") == 1, lines
    down(instance)
