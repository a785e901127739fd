"""A keeper that its user has replaced by a program that floods the daemon."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.support.people import Row, daemon, leave, states, up
from tests.lab.support.shared import shared_server, system, tidy
from tests.lab.support.users import User
from tests.support.waiting import wait_for


@pytest.fixture
def server(ann: User, ben: User) -> Iterator[None]:
    """One of this test's own: its daemon is killed."""
    with shared_server(ann, ben):
        yield
        leave(ann, ben)
        tidy(ann, ben)


#: In the place of ben's keeper: says who it is, refuses all else, and reports without an end.
FLOODER = """
import asyncio, os, sys
from corral.ports import wire
from corral.ports.keeper import PROTOCOL, Hello
from corral.ports.reports import Degraded

FLOOD = wire.encode(wire.Told(report=Degraded(team="mill", agent="api", why="x" * 500))) * 100

async def serve(reader, writer):
    async def answer():
        frames = wire.FrameReader(reader)
        while True:
            call = await frames.next()
            hello = Hello(protocol=PROTOCOL, instance=sys.argv[2], pid=os.getpid(), host="h", user="ben", version="0",
                          boot_id="b", containment="process")
            error = {"code": "failed", "message": "no", "remedy": ""}
            writer.write(wire.encode(wire.Answer(number=call.number, value=wire.pack(hello)) if call.verb == "hello"
                         else wire.Failure(number=call.number, error=error)))
    asyncio.ensure_future(answer())
    while True:
        writer.write(FLOOD)
        await writer.drain()

async def main():
    if os.path.exists(sys.argv[1]):
        os.unlink(sys.argv[1])
    server = await asyncio.start_unix_server(serve, sys.argv[1])
    os.chmod(sys.argv[1], 0o666)
    await server.serve_forever()

asyncio.run(main())
"""


def test_a_keeper_that_floods_the_daemon_is_hung_up_on_and_others_are_served(
    server: None, ann: User, ben: User
) -> None:
    up(ann, "shop")
    up(ben, "mill")
    drop_in, program = f"{ben.home}/.config/systemd/user/corral-keeper.service.d", f"{ben.home}/flooder.py"
    instance = next(
        line.partition("=")[2]
        for line in Path("/run/corral/keeper.env").read_text().splitlines()
        if line.startswith("CORRAL_INSTANCE=")
    )
    command = f"/opt/corral-venv/bin/python {program} /run/corral/keepers/{ben.uid}/keeper.sock {instance}"
    ben.run("mkdir", "-p", drop_in)
    ben.run("tee", program, input=FLOODER)
    ben.run("tee", f"{drop_in}/x.conf", input=f"[Service]\nType=simple\nExecStart=\nExecStart={command}\n")
    try:
        ben.systemctl("daemon-reload")
        ben.systemctl("restart", "corral-keeper.service")

        def told() -> list[Row]:
            words = ("corral", "events", "--json", "--event", "keeper.cut_off")
            return [json.loads(line) for line in system(*words).stdout.splitlines()]

        wait_for(told, what="ben's keeper is hung up on")
        assert told()[0]["data"]["user"] == "ben"
        ann.run("corral", "restart", "shop/api")
        assert {key: state for key, state in states(ann).items() if key[0] == "shop"} == {
            ("shop", "api"): "running",
            ("shop", "web"): "running",
        }
        written = system("corral", "events", "--json", "-n", "all", "--event", "agent.degraded").stdout.splitlines()
        assert len(written) < 4000
        refused = ben.run("corral", "stop", "mill/api", check=False)
        assert (refused.returncode, "is not listened to" in refused.stderr) == (6, True), refused.stderr
    finally:
        ben.run("rm", "-rf", f"{ben.home}/.config", program)
        ben.systemctl("daemon-reload")
        ben.systemctl("restart", "corral-keeper.service")
        os.kill(daemon(), signal.SIGKILL)  # it remembers whom it has hung up on; the next one does not
    wait_for(lambda: ben.run("corral", "ps", check=False).returncode == 0, what="there is a daemon again")
    wait_for(lambda: states(ben)["mill", "api"] == "running", what="ben's agents are seen again")
