"""Requests to the daemon of another host, over TCP: `CORRAL_URL`. Loaded if that is set, and not otherwise (ADR 29).

The token goes out only over TLS, to a host whose certificate fits its name, or over plain HTTP to this very host.
"""

import os
import socket
import ssl
import stat
from urllib.parse import urlsplit

from corral.domain.errors import RefusedError, UnavailableError, WrongUseError
from corral.domain.listen_settings import is_loopback, shown_address

URL, TOKEN_FILE, CA_FILE = "CORRAL_URL", "CORRAL_TOKEN_FILE", "CORRAL_CA_FILE"
_PORT = 7700
_LONGEST_TOKEN = 200
_EXAMPLE = "such as https://build.example.org:7700"


class Remote:
    """The daemon that the environment names. `WrongUseError` if it names none that can be."""

    __slots__ = ("host", "port", "tls")

    def __init__(self, url: str) -> None:
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise WrongUseError(f"{URL} is {url!r}, which is no address", _EXAMPLE) from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise WrongUseError(f"{URL} is {url!r}, which is no address of http or https", _EXAMPLE)
        if parts.username is not None or parts.query or parts.fragment or parts.path not in ("", "/"):
            raise WrongUseError(f"{URL} has more in it than a host and a port", _EXAMPLE)
        self.host: str = parts.hostname
        self.port: int = _PORT if port is None else port
        self.tls = parts.scheme == "https"

    @property
    def name(self) -> str:
        """HOST:PORT."""
        return shown_address(self.host, self.port)

    def head(self) -> "list[str]":
        """The lines that every request has: to whom it goes, and by which token."""
        return [f"Host: {self.name}", f"Authorization: Bearer {_token()}"]

    def connect(self, seconds: float) -> socket.socket:
        """A connection that the token may be sent over."""
        _token()  # whoever has none need not be asked
        context = self._context() if self.tls else None
        try:
            connection = socket.create_connection((self.host, self.port), seconds)
        except OSError as error:
            raise UnavailableError(
                f"nobody answers at {self.name}: {error.strerror or error}",
                f"is {URL} right, and does the daemon there listen? corral daemon status, run there, shows it",
            ) from None
        try:
            # Where a stream is followed: a host that is gone without a word is missed some time.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if context is None:
                if not is_loopback(str(connection.getpeername()[0])):
                    raise RefusedError(
                        f"{URL} leads to {self.host} without TLS: the token is not sent where others can read it",
                        f"use https://{self.name}, or ssh",
                    )
                return connection
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return context.wrap_socket(connection, server_hostname=self.host)
        except ssl.SSLCertVerificationError as error:
            connection.close()
            raise RefusedError(
                f"whoever answers at {self.name} does not prove to be that host: {error.verify_message}",
                f"{CA_FILE} names the certificate of who vouches for it; the name in {URL} must be in its own",
            ) from None
        except OSError as error:
            connection.close()
            what = getattr(error, "reason", None) or error.strerror or error
            raise UnavailableError(
                f"no TLS with {self.name}: {what}", f"is that a daemon of Corral, with TLS? Is {URL} right?"
            ) from None
        except BaseException:
            connection.close()
            raise

    def _context(self) -> ssl.SSLContext:
        path = os.environ.get(CA_FILE) or None
        try:
            # Verifies the chain and the name.
            context = ssl.create_default_context(cafile=path)
        except OSError as error:
            what = getattr(error, "reason", None) or error.strerror or error
            raise WrongUseError(
                f"{CA_FILE} is {path}, which cannot be used: {what}", "name a PEM file with certificates"
            ) from None
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        return context


def _token() -> str:
    """What the file has that `CORRAL_TOKEN_FILE` names. Others must not be able to read it."""
    path = os.environ.get(TOKEN_FILE)
    if not path:
        raise WrongUseError(
            f"{URL} is set, and {TOKEN_FILE} is not",
            f"corral token add --file FILE, run on that host, makes a token; {TOKEN_FILE} names your copy of that file",
        )
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise WrongUseError(f"{TOKEN_FILE} is {path}, which cannot be read: {error.strerror}", "name another") from None
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            raise WrongUseError(f"{TOKEN_FILE} is {path}, which is no file", "name the file that has the token")
        if info.st_mode & 0o077 or info.st_uid not in (0, os.geteuid()):
            raise RefusedError(
                f"{path} is open to others (uid {info.st_uid}, mode {stat.S_IMODE(info.st_mode):04o})",
                f"chmod 600 {path}; if others could read it, corral token rm revokes the token",
            )
        text = os.read(descriptor, _LONGEST_TOKEN + 1).decode("latin-1").strip()
    finally:
        os.close(descriptor)
    if not text or len(text) > _LONGEST_TOKEN or not (text.isascii() and text.isprintable()) or " " in text:
        raise WrongUseError(f"{path} has no token in it", "one line, as corral token add prints it")
    return text
