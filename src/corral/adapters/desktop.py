"""Telling somebody who sits at this host, by the notifications of their desktop (`notify-send`)."""

from __future__ import annotations

import asyncio
import os
import shutil

_SECONDS = 5.0
_LONGEST = 500


async def notify(title: str, text: str) -> str:
    """Show a notification; why that could not be done, in words, or nothing if it was."""
    program = shutil.which("notify-send")
    if program is None:
        return "there is no notify-send here"
    environment = dict(os.environ)
    if not environment.get("DBUS_SESSION_BUS_ADDRESS"):
        bus = os.path.join(environment.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}", "bus")
        if not os.path.exists(bus):
            return "there is no session bus here"
        environment["DBUS_SESSION_BUS_ADDRESS"] = f"unix:path={bus}"
    process = await asyncio.create_subprocess_exec(
        program,
        "--app-name=corral",
        "--",
        title[:_LONGEST],
        # What an agent printed is text and no markup.
        text[:_LONGEST].replace("&", "&amp;").replace("<", "&lt;"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        env=environment,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(_SECONDS):
            code = await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
        return f"notify-send did not end within {_SECONDS:g} s"
    return "" if code == 0 else f"notify-send: exit {code}"
