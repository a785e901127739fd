"""git beside the event loop."""

from __future__ import annotations

import asyncio

from corral import git as command


async def git(
    directory: str, *arguments: str, feed: bytes = b"", making: bool = False, seconds: float | None = None
) -> str:
    """See `corral.git.git`."""
    return await asyncio.to_thread(command.git, directory, *arguments, feed=feed, making=making, seconds=seconds)
