"""Ports over HTTP: what is told, and what is refused."""

from pathlib import Path

from corral.domain.port_blocks import Pool
from corral.ports.resources import Listening
from tests.support.records import PERSON
from tests.unit.api.scene import Scene, play


async def give(scene: Scene, block: int = 10) -> int:
    """Blocks for the agents of shop; the first port of `a`."""
    pool = Pool((20000, 20099), block)
    given = await scene.services.ports.allocate(PERSON, "shop", pool, {"a": ["web"], "b": []}, user="")
    return given["a"].first


def test_a_port_is_told_by_its_name_and_stays_the_same(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        first = await give(scene)
        whose = {"agent": "a", "team": "shop"}
        for name, port in (("web", first + 1), ("api", first + 2), ("web", first + 1)):
            reply = await scene.ask("POST", f"/v1/ports?agent=a&name={name}")
            assert (reply.status, reply.json) == (200, {"port": port, "name": name, **whose})
        assert (await scene.ask("POST", "/v1/ports?agent=a")).json == {"port": first, "name": None, **whose}
        data = {"name": "api", "port": first + 2}
        assert [entry for entry in await scene.journal() if entry[2] == data] == [("port.allocated", "ok", data)]

    play(tmp_path, act)


def test_what_cannot_be_had_is_refused(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        first = await give(scene, block=2)
        full = await scene.ask("POST", "/v1/ports?agent=a&name=api")
        assert full.status == 409
        assert (full.error["name"], full.error["first"], full.error["last"]) == ("api", first, first + 1)
        assert full.error["remedy"]
        assert (await scene.ask("POST", "/v1/ports?name=web")).status == 400
        assert (await scene.ask("POST", "/v1/ports?agent=a&name=No%20Name")).status == 400
        assert (await scene.ask("POST", f"/v1/ports?agent=a&name={'a' * 10_000}")).status == 400
        assert (await scene.ask("POST", "/v1/ports?agent=nobody&name=web&team=shop")).status == 404
        assert (await scene.ask("POST", "/v1/ports?agent=z&name=web")).status == 404

    play(tmp_path, act)


def test_the_list_has_what_is_leased_and_what_is_listened_on(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        first = await give(scene)
        scene.keeper.listeners["toys"] = [Listening(port=3000, agent="z", pid=5, command="node")]
        listed = (await scene.ask("GET", "/v1/ports?agent=a")).json
        row = {
            "team": "shop",
            "agent": "a",
            "listening": False,
            "pid": None,
            "command": "",
            "leased": True,
            "hidden": False,
            "unknown": "",
        }
        assert listed == [{"port": first, "name": None, **row}, {"port": first + 1, "name": "web", **row}]
        (stray,) = (await scene.ask("GET", "/v1/ports?team=toys")).json
        assert stray == {
            "port": 3000,
            "team": "toys",
            "agent": "z",
            "name": None,
            "listening": True,
            "pid": 5,
            "command": "node",
            "leased": False,
            "hidden": False,
            "unknown": "",
        }
        everything = (await scene.ask("GET", "/v1/ports")).json
        assert {(one["team"], one["agent"]) for one in everything} == {("shop", "a"), ("shop", "b"), ("toys", "z")}
        assert (await scene.ask("GET", "/v1/ports?team=nobody")).status == 404

    play(tmp_path, act)
