"""The calls about questions on screens to a keeper at the other end of a stream."""

from __future__ import annotations

from corral.adapters.unix_keeper.calling import Calls
from corral.ports.dialogs import Announced, Peer, Pressed, ScreenSeen
from corral.ports.merging import GateOrder, GateSeen

#: Somebody waits for the answer: with the time for a connection it stays below `client.wire.ANSWER_SECONDS`.
_LOOK_SECONDS, _PRESS_SECONDS, _ANNOUNCE_SECONDS = 15.0, 18.0, 30.0
#: Besides the time that a command itself may take; others may be before it.
_NOTICE_SECONDS = 120.0


class DialogCalls(Calls):
    """See `ports.dialogs.Dialogs`."""

    async def look_at_dialog(self, team: str, run: str) -> ScreenSeen:
        return await self._call(ScreenSeen, "look_at_dialog", _LOOK_SECONDS, team=team, run=run)

    async def press(self, team: str, run: str, keys: list[str], mark: str, words: str = "") -> Pressed:
        return await self._call(Pressed, "press", _PRESS_SECONDS, team=team, run=run, keys=keys, mark=mark, words=words)

    async def no_person(self, peer: Peer) -> str:
        return await self._call(str, "no_person", _LOOK_SECONDS, peer=peer)

    async def announce(self, team: str, title: str, text: str, *, bell: bool, desktop: bool) -> Announced:
        return await self._call(
            Announced, "announce", _ANNOUNCE_SECONDS, team=team, title=title, text=text, bell=bell, desktop=desktop
        )

    async def run_notice(self, team: str, order: GateOrder, within: float) -> GateSeen:
        seconds = within + _NOTICE_SECONDS
        return await self._call(GateSeen, "run_notice", seconds, team=team, order=order, within=within)
