"""Listening on TCP: what a name stands for, sockets that are bound to just that, and the certificate to show."""

from __future__ import annotations

import os
import socket
import ssl
import stat

from corral.domain.errors import CorralError, RefusedError
from corral.domain.listen_settings import ListenSettings, shown_address
from corral.listening import BACKLOG

#: Family and address, as the system writes them.
Found = tuple[socket.AddressFamily, tuple[str, int]]


def resolved(settings: ListenSettings) -> list[Found]:
    """All that the host of the settings stands for now. Whoever binds these binds what was decided about."""
    try:
        rows = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE | socket.AI_NUMERICSERV
        )
    except OSError as error:
        raise CorralError(
            f"[listen] names {settings.host}, and nobody knows that host: {error.strerror}", "write its address instead"
        ) from None
    found: dict[Found, None] = {}
    for family, _, _, _, address in rows:
        found[family, (str(address[0]), settings.port)] = None
    return list(found)


def bound(where: list[Found]) -> list[socket.socket]:
    """Sockets that listen at all of these, or at none."""
    sockets: list[socket.socket] = []
    try:
        for family, address in where:
            listening = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
            sockets.append(listening)
            # The one before us may have connections that are not quite over.
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            try:
                listening.bind(address)
                listening.listen(BACKLOG)
            except OSError as error:
                raise CorralError(
                    f"[listen] asks for {shown_address(*address)}, and that cannot be had: {error.strerror}",
                    "is somebody there already (ss -ltnp tells), or is the address none of this host?",
                ) from None
            listening.setblocking(False)
    except BaseException:
        for listening in sockets:
            listening.close()
        raise
    return sockets


def tls_context(settings: ListenSettings) -> ssl.SSLContext | None:
    """What the certificate of the settings is shown with; None without one. `CorralError` for what cannot be used."""
    if not settings.tls:
        return None
    _must_be_closed(settings.tls_key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE
    context.set_alpn_protocols(["http/1.1"])
    # Nobody comes so often that it would pay.
    context.num_tickets = 0
    context.options |= ssl.OP_NO_TICKET
    try:
        # A key with a pass phrase would have the daemon ask for it on a terminal.
        context.load_cert_chain(settings.tls_cert, settings.tls_key, password=lambda: b"")
    except (OSError, ValueError) as error:
        what = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        raise CorralError(
            f"the certificate {settings.tls_cert} cannot be used with the key {settings.tls_key}: {what}",
            "both are PEM files that the daemon can read, the key is that of the certificate, and has no pass phrase",
        ) from None
    return context


def _must_be_closed(key: str) -> None:
    try:
        info = os.stat(key)
    except OSError as error:
        raise CorralError(
            f"the key {key} of [listen] cannot be read: {error.strerror}", "the daemon's user must be able to"
        ) from None
    if info.st_mode & (stat.S_IRWXO | stat.S_IWGRP):
        raise RefusedError(
            f"the key {key} of [listen] is open to others (mode {stat.S_IMODE(info.st_mode):04o})",
            f"chmod 600 {key}; if others could read it, have a new one made",
        )
