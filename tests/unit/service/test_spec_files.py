"""Texts of files that are read beside the event loop, each user's one at a time."""

import asyncio
import threading

import pytest

from corral.domain import spec
from corral.domain.errors import BadSpecError
from corral.service.spec_files import SpecFiles

FILE = "/n/corral.toml"


class Readers:
    """Stands in for the reading of names: each waits in its thread until the test lets it go on."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.threads: set[int] = set()
        self._may_end = threading.Event()
        self._changed = threading.Condition()

    def __call__(self, text: str, _: str) -> str:
        with self._changed:
            self.begun.append(text)
            self.threads.add(threading.get_ident())
            self._changed.notify_all()
        assert self._may_end.wait(30)
        return text

    def wait_for(self, count: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.begun) >= count, 30)

    def let_go(self) -> None:
        self._may_end.set()


def test_a_user_has_one_text_read_at_a_time_and_nobody_else_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    readers = Readers()
    monkeypatch.setattr(spec, "name_in", readers)

    async def act() -> None:
        files = SpecFiles()
        asked = [("ben", "b1"), ("ben", "b2"), ("ann", "a1")]
        reading = [asyncio.ensure_future(files.name(user, text, FILE)) for user, text in asked]
        await asyncio.to_thread(readers.wait_for, 2)
        assert sorted(readers.begun) == ["a1", "b1"]
        readers.let_go()
        assert await asyncio.gather(*reading) == ["b1", "b2", "a1"]
        assert threading.get_ident() not in readers.threads, "the event loop went on meanwhile"

    asyncio.run(act())


def test_a_text_that_fails_or_is_given_up_is_in_nobodys_way() -> None:
    async def act() -> None:
        files = SpecFiles()
        with pytest.raises(BadSpecError):
            await files.team("ben", "[team]", FILE)
        given_up = asyncio.ensure_future(files.name("ben", '[team]\nname = "shop"', FILE))
        await asyncio.sleep(0)
        given_up.cancel()
        assert await files.name("ben", '[team]\nname = "shop"', FILE) == "shop"

    asyncio.run(act())
