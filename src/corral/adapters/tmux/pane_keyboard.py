"""The keyboard of a pane; see `ports.keyboard.Keyboard`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from corral.adapters.tmux import lease
from corral.adapters.tmux.control import ControlClient, TmuxRefusedError
from corral.adapters.tmux.keyboard import leave_mode, paste_into
from corral.adapters.tmux.panes import Pane
from corral.adapters.tmux.pressing import press_if_shown
from corral.domain.errors import CorralError
from corral.domain.messages import neutralised
from corral.ports.keyboard import Glimpse


class PaneKeyboard:
    """`find` gives the connection and the pane of the run as they are now."""

    def __init__(self, find: Callable[[], Awaitable[tuple[ControlClient, Pane]]], scratch_dir: str) -> None:
        self._find = find
        self._scratch_dir = scratch_dir
        self._lease: lease.Lease | None = None

    async def look(self) -> Glimpse:
        """See `Keyboard.look`."""
        client, pane = await self._living()
        return await lease.look(client, pane, scratch_dir=self._scratch_dir)

    async def lease(self) -> None:
        """See `Keyboard.lease`."""
        client, pane = await self._living()
        self._lease = await lease.take(client, pane)

    async def give_back(self) -> None:
        """See `Keyboard.give_back`."""
        taken, self._lease = self._lease, None
        if taken is not None:
            client, pane = await self._find()
            await lease.give_back(client, pane, taken)

    async def leave_mode(self) -> None:
        """See `Keyboard.leave_mode`."""
        client, pane = await self._living()
        await leave_mode(client, pane.pane_id)

    async def paste(self, text: str) -> None:
        """See `Keyboard.paste`."""
        client, pane = await self._living()
        try:
            await paste_into(client, pane.pane_id, neutralised(text), scratch_dir=self._scratch_dir)
        except TmuxRefusedError as refusal:
            raise _ended(pane) from refusal

    async def press(self, keys: Sequence[str]) -> None:
        """See `Keyboard.press`."""
        client, pane = await self._living()
        await client.ask(["send-keys", "-t", pane.pane_id, *keys])

    async def press_if(self, keys: Sequence[str], shown: Sequence[str]) -> bool:
        """See `Keyboard.press_if`."""
        client, pane = await self._living()
        return await press_if_shown(client, pane.pane_id, keys, shown)

    async def _living(self) -> tuple[ControlClient, Pane]:
        client, pane = await self._find()
        if pane.session.dead:
            raise _ended(pane)
        return client, pane


def _ended(pane: Pane) -> CorralError:
    return CorralError(f"{pane.session.agent} has ended; nobody reads its terminal", "corral restart it first")
