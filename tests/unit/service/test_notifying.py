"""What `ps` says of people who could not be told."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from corral.domain.errors import CorralError, UnavailableError
from corral.domain.notices import Notice
from corral.domain.notify import Notify
from corral.domain.records import Team
from corral.service.notifying import Notifier

NOTICE = Notice(kind="failed", team="shop", agent="api", headline="shop/api", what="failed", since=0.0)
GONE = UnavailableError("the service manager of ann does not run", "sudo systemctl start user@1000.service")
NO = CorralError("hooks.example answered 503", "")


async def _gone() -> None:
    raise GONE


async def _refused(_address: str, _body: bytes) -> None:
    raise NO


@pytest.mark.parametrize(
    ("notify", "way", "remedy"),
    [
        (Notify(bell=True), "terminal", GONE.remedy),
        (Notify(bell=False, desktop=True), "desktop", GONE.remedy),
        (Notify(bell=False, webhook="https://hooks.example/x"), "webhook", "mend [notify] in its file"),
    ],
)
def test_a_keeper_that_cannot_be_had_is_not_the_fault_of_the_file(
    monkeypatch: pytest.MonkeyPatch, notify: Notify, way: str, remedy: str
) -> None:
    monkeypatch.setattr("corral.service.notifying._BACK_OFF", ())
    team = Team(name="shop", file="/f", directory="/", repo=None, created_at=0.0, notify=notify)
    said: list[str] = []
    registry = SimpleNamespace(
        teams={"shop": team},
        set_notice=lambda _, name, words: said.append(f"{name}: {words}"),
        note=lambda *_: None,
    )
    keepers = SimpleNamespace(of=lambda _: SimpleNamespace(open=_gone), owner=lambda _: "ann")
    context: Any = SimpleNamespace(registry=registry, supervisor=SimpleNamespace(keepers=keepers))

    async def tell() -> None:
        notifier = Notifier(context, _refused)
        notifier.tell(NOTICE)
        await notifier._background.settled()

    asyncio.run(tell())
    (told,) = said
    assert told.startswith(f"notify {way}: nobody could be told of the last notice by {way}: ")
    assert told.endswith(f"; {remedy}")
