"""A process in a scene, and its output."""

from typing import Any

from tests.unit.api.scene import Scene
from tests.unit.service.fake_keeper import Played, runs


async def started(scene: Scene, agent: str = "a", text: bytes = b"") -> tuple[str, Played]:
    """A process that runs, and has written something."""
    scene.keeper.at_start = runs
    process = (await scene.exec(f"agent={agent}", argv=["job"], background=True, stdin=True)).json["process_id"]
    played = scene.keeper.played[process]
    await played.write(text)
    return process, played


async def output(scene: Scene, process: str, query: str = "") -> Any:
    reply = await scene.ask("GET", f"/v1/processes/{process}/output?{query}")
    assert reply.status == 200, reply.body
    return reply.json
