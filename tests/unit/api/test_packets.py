"""What is written in one go goes out in one go, all of it, in its order and before the end."""

import asyncio

from corral.api.packets import OnePacket


class Line(asyncio.Transport):
    """The end of the line: notes what is done to it."""

    def __init__(self) -> None:
        super().__init__()
        self.done: list[bytes | str] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.done.append(bytes(data))

    def close(self) -> None:
        self.done.append("closed")

    def abort(self) -> None:
        self.done.append("aborted")

    def is_closing(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return 100


def test_head_and_body_are_one_packet_and_what_comes_later_is_another() -> None:
    async def act() -> None:
        line = Line()
        packets = OnePacket(line, asyncio.get_running_loop())
        packets.write(b"head")
        packets.write(b"body")
        assert line.done == []
        assert packets.get_write_buffer_size() == 108
        await asyncio.sleep(0)
        assert line.done == [b"headbody"]
        packets.write(b"more")
        await asyncio.sleep(0)
        assert line.done == [b"headbody", b"more"]

    asyncio.run(act())


def test_what_was_written_goes_out_before_the_end() -> None:
    async def act() -> None:
        line = Line()
        packets = OnePacket(line, asyncio.get_running_loop())
        packets.write(b"last words")
        packets.close()
        await asyncio.sleep(0)
        assert line.done == [b"last words", "closed"]

    asyncio.run(act())


def test_nothing_goes_out_of_what_is_broken_off() -> None:
    async def act() -> None:
        line = Line()
        packets = OnePacket(line, asyncio.get_running_loop())
        packets.write(b"last words")
        packets.abort()
        await asyncio.sleep(0)
        assert line.done == ["aborted"]

    asyncio.run(act())


class Gone(Line):
    """One that has been closed meanwhile, and takes it as uvloop does."""

    def is_closing(self) -> bool:
        return True

    def get_write_buffer_size(self) -> int:
        return 0

    def writelines(self, _: object) -> None:
        raise RuntimeError("the handler is closed")


def test_what_is_written_for_somebody_who_has_gone_is_no_error() -> None:
    async def act() -> None:
        errors: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
        line = Gone()
        packets = OnePacket(line, asyncio.get_running_loop())
        packets.write(b"too late")
        await asyncio.sleep(0)
        packets.write(b"and again")
        packets.close()
        assert (errors, line.done) == ([], ["closed"])

    asyncio.run(act())
