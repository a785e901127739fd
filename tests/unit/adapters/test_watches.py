"""Files that change, as the kernel tells."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from corral.adapters.files.watches import FileWatches


class Heard:
    """What was told of one file."""

    def __init__(self) -> None:
        self.gone: list[bool] = []
        self._news = asyncio.Event()

    def __call__(self, gone: bool) -> None:
        self.gone.append(gone)
        self._news.set()

    async def next(self) -> bool:
        await asyncio.wait_for(self._news.wait(), 20)
        self._news.clear()
        return self.gone[-1]


def play(act: Callable[[FileWatches], Awaitable[None]]) -> None:
    async def go() -> None:
        await act(FileWatches())

    asyncio.run(go())


def append(path: Path) -> None:
    with path.open("a") as file:
        file.write("more\n")


def test_each_who_watches_is_told_until_it_is_enough(tmp_path: Path) -> None:
    file, other = tmp_path / "file", tmp_path / "other"
    file.touch()
    other.touch()

    async def act(watches: FileWatches) -> None:
        first, second, elsewhere = Heard(), Heard(), Heard()
        end = watches.watch(str(file), first)
        ends = [watches.watch(str(file), second), watches.watch(str(other), elsewhere)]
        append(file)
        assert [await first.next(), await second.next()] == [False, False]
        end()
        told = len(first.gone)
        append(file)
        assert not await second.next()
        assert (len(first.gone), elsewhere.gone) == (told, [])
        for enough in (*ends, end):
            enough()

    play(act)


@pytest.mark.parametrize("go_away", [Path.unlink, lambda path: path.rename(path.with_name("elsewhere"))])
def test_a_file_that_goes_is_told_once_and_its_successor_is_another(
    tmp_path: Path, go_away: Callable[[Path], object]
) -> None:
    file = tmp_path / "file"
    file.touch()

    async def act(watches: FileWatches) -> None:
        heard, again = Heard(), Heard()
        end = watches.watch(str(file), heard)
        go_away(file)
        assert await heard.next()
        told = len(heard.gone)
        file.touch()
        enough = watches.watch(str(file), again)
        append(file)
        assert not await again.next()
        assert len(heard.gone) == told
        end()
        enough()

    play(act)


def test_what_is_not_there_cannot_be_watched(tmp_path: Path) -> None:
    async def act(watches: FileWatches) -> None:
        with pytest.raises(FileNotFoundError):
            watches.watch(str(tmp_path / "nothing"), Heard())

    play(act)
