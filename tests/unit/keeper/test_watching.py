"""When screens are looked at: after a pause, together, and not all the time."""

import asyncio
from collections.abc import Sequence

from corral.domain.errors import UnavailableError
from corral.keeper import watching
from corral.keeper.watching import Watching
from corral.ports.runtime import Screen


class Scene:
    """A watching whose looks are written down."""

    def __init__(self) -> None:
        self.looks: list[list[str]] = []
        self.told: list[str] = []
        self.fails = False
        self.looked = asyncio.Event()
        self.watching = Watching(self.read, lambda run, _: self.told.append(run))

    async def read(self, runs: Sequence[str]) -> dict[str, Screen]:
        self.looks.append(list(runs))
        self.looked.set()
        if self.fails:
            raise UnavailableError("tmux is silent", "try again")
        return {run: Screen([run]) for run in runs}

    async def next_look(self) -> list[str]:
        self.looked.clear()
        await asyncio.wait_for(self.looked.wait(), 20)
        await asyncio.sleep(0)
        return self.looks[-1]


def test_those_that_changed_are_looked_at_together() -> None:
    async def go() -> None:
        scene = Scene()
        for run in ("a", "b", "c"):
            scene.watching.follow(run)
        assert await scene.next_look() == ["a", "b", "c"]
        assert scene.told == ["a", "b", "c"]
        scene.watching.output("c")
        scene.watching.output("a")
        assert await scene.next_look() == ["a", "c"]
        scene.watching.close()

    asyncio.run(go())


def test_nothing_is_looked_at_while_nothing_is_written() -> None:
    async def go() -> None:
        scene = Scene()
        scene.watching.follow("a")
        await scene.next_look()
        await asyncio.sleep(3 * watching.PAUSED_SECONDS)
        assert scene.looks == [["a"]]
        assert scene.watching._timer is None
        scene.watching.close()

    asyncio.run(go())


def test_one_that_writes_all_the_time_is_looked_at_now_and_then() -> None:
    async def go() -> None:
        scene = Scene()
        scene.watching.follow("a")
        loop = asyncio.get_running_loop()
        began = loop.time()
        writes = 0
        while len(scene.looks) < 2 and loop.time() < began + 20:
            scene.watching.output("a")
            writes += 1
            await asyncio.sleep(watching.PAUSED_SECONDS / 6)
        assert len(scene.looks) == 2
        # Each look came although the output never paused; none of them came for every write.
        assert loop.time() - began >= watching.LONGEST_SECONDS
        assert writes > len(scene.looks)
        scene.watching.close()

    asyncio.run(go())


def test_it_can_be_looked_at_once_more_without_output() -> None:
    async def go() -> None:
        scene = Scene()
        scene.watching.follow("a")
        await scene.next_look()
        scene.watching.look_again("a", 0.05)
        assert await scene.next_look() == ["a"]
        assert len(scene.looks) == 2
        scene.watching.close()

    asyncio.run(go())


def test_a_silent_tmux_is_asked_again_with_the_next_output() -> None:
    async def go() -> None:
        scene = Scene()
        scene.fails = True
        scene.watching.follow("a")
        await scene.next_look()
        assert scene.told == []
        scene.fails = False
        scene.watching.output("a")
        await scene.next_look()
        assert scene.told == ["a"]
        scene.watching.close()

    asyncio.run(go())


def test_what_is_not_watched_is_not_looked_at() -> None:
    async def go() -> None:
        scene = Scene()
        scene.watching.output("a")
        scene.watching.look_again("a", 0)
        scene.watching.follow("b")
        scene.watching.follow("c")
        scene.watching.forget("b")
        assert await scene.next_look() == ["c"]
        scene.watching.close()

    asyncio.run(go())
