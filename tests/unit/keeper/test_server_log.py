"""What the keeper of a shared server refuses is in its log, with what helps: others than its user are told less."""

import asyncio
import logging
import os
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from corral.domain.errors import RefusedError
from corral.keeper.server import VERBS, KeeperServer
from corral.ports import wire


class Refusing:
    async def verb(self) -> None:
        raise RefusedError("it is not there", "make it")

    def listen(self, _: object) -> None:
        return None


@pytest.mark.parametrize(("caller", "logged"), [(os.getuid(), ["screen: it is not there → make it"]), (None, [])])
def test_a_refusal(caller: int | None, logged: list[str], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    written: list[bytes] = []

    async def run() -> None:
        service: Any = type("Service", (Refusing,), dict.fromkeys(VERBS, Refusing.verb))()
        writer: Any = SimpleNamespace(is_closing=lambda: False, write=written.append)
        call = wire.Call(number=1, verb="screen", arguments=msgspec.Raw(msgspec.msgpack.encode({})))
        await KeeperServer(service, caller)._answer(writer, call)

    asyncio.run(run())
    assert written
    assert [record.getMessage() for record in caplog.records if record.name == "corral.keeper"] == logged
