"""Posting JSON to an address that a person gave. The address is in no message: it may hold a secret."""

from __future__ import annotations

import asyncio
import base64
import ssl
from urllib.parse import SplitResult, unquote, urlsplit

from corral import __version__
from corral.domain.errors import CorralError

_SECONDS = 10.0
_LONGEST_HEAD = 16 << 10
_REMEDY = "look at webhook below [notify] in corral.toml"


async def post(url: str, body: bytes) -> None:
    """Post a JSON document. `CorralError` if it was not taken, or nobody answered in time. Follows no redirect."""
    parts = urlsplit(url)
    try:
        async with asyncio.timeout(_SECONDS):
            status = await _post(parts, body)
    except TimeoutError:
        raise CorralError(f"{parts.hostname} did not answer within {_SECONDS:g} s", _REMEDY) from None
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError) as error:
        # Neither the error nor what it came from: either may have the address in it.
        what = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
        raise CorralError(f"{parts.hostname} could not be reached: {what}", _REMEDY) from None
    if not 200 <= status < 300:
        raise CorralError(f"{parts.hostname} answered {status}", _REMEDY)


async def _post(parts: SplitResult, body: bytes) -> int:
    secure = parts.scheme == "https"
    context = await asyncio.to_thread(ssl.create_default_context) if secure else None
    host = parts.hostname or ""
    reader, writer = await asyncio.open_connection(
        host, parts.port or (443 if secure else 80), ssl=context, limit=_LONGEST_HEAD
    )
    try:
        writer.write(_head(parts, len(body)) + body)
        await writer.drain()
        version, status, *_ = (await reader.readuntil(b"\n")).split(maxsplit=2)
        if not version.startswith(b"HTTP/"):
            raise ValueError("no answer of a web server")
        return int(status)
    finally:
        writer.close()


def _head(parts: SplitResult, length: int) -> bytes:
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    host = parts.netloc.rpartition("@")[2]
    lines = [
        f"POST {path} HTTP/1.1",
        f"Host: {host}",
        f"User-Agent: corral/{__version__}",
        "Content-Type: application/json",
        f"Content-Length: {length}",
        "Connection: close",
    ]
    if parts.username is not None:
        user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        lines.append(f"Authorization: Basic {base64.b64encode(user.encode()).decode('ascii')}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")
