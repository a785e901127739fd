"""`[listen]` of an instance's `config.toml`: whether it is reached over TCP, and what may be bound. Pure (ADR 29)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address

from corral.domain.errors import RefusedError
from corral.domain.spec_problems import Problems
from corral.domain.spec_syntax import load
from corral.domain.spec_table import Table

_KEYS = ("address", "tls_cert", "tls_key")
_EXAMPLE = 'address = "127.0.0.1:7700"'
_LONGEST_HOST, _HIGHEST_PORT = 253, 65535


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenSettings:
    """Where to listen besides the socket, and with which certificate."""

    host: str
    port: int
    #: Paths of the certificate, with those that vouch for it behind it, and of its key. Both, or none for no TLS.
    tls_cert: str = ""
    tls_key: str = ""

    @property
    def tls(self) -> bool:
        return bool(self.tls_cert)


def read_listen(file: str, text: str) -> ListenSettings | None:
    """What the text of a `config.toml` says of it; None if nothing. `BadSpecError` tells of all that is wrong there.

    Other tables of the file are for others to read.
    """
    problems = Problems(file, text)
    table = Table(problems, (), load(text, file)).table("listen", "[listen]")
    if table is None:
        problems.raise_if_any()
        return None
    table.only(_KEYS)
    host, port = _address(table)
    cert, key = _path(table, "tls_cert"), _path(table, "tls_key")
    if bool(cert) != bool(key):
        missing = "tls_key" if cert else "tls_cert"
        table.missing(missing, "a certificate and its key belong together")
    problems.raise_if_any()
    return ListenSettings(host=host, port=port, tls_cert=cert, tls_key=key)


def _address(table: Table) -> tuple[str, int]:
    text = table.need("address", str, _EXAMPLE)
    if text is None:
        return "", 0
    found = split_address(text)
    if found is None:
        table.wrong("address", "this is no HOST:PORT", f'such as {_EXAMPLE} or address = "[::1]:7700"')
        return "", 0
    return found


def split_address(text: str) -> tuple[str, int] | None:
    """Host and port of `HOST:PORT` or `[IPV6]:PORT`; None if it is neither. Port 0: whichever is free."""
    host, sign, digits = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
        if not _is_ipv6(host):
            return None
    elif ":" in host:
        return None
    fits = host.isascii() and host.isprintable() and 0 < len(host) <= _LONGEST_HOST and not set(host) & set(" /@?#%[]")
    if not sign or not fits or not (digits.isascii() and digits.isdigit() and len(digits) <= 5):
        return None
    return (host, int(digits)) if int(digits) <= _HIGHEST_PORT else None


def _is_ipv6(host: str) -> bool:
    try:
        return isinstance(ip_address(host), IPv6Address)
    except ValueError:
        return False


def _path(table: Table, name: str) -> str:
    example = f'{name} = "/etc/corral/{name}.pem"'
    path = table.take(name, str, example) or ""
    if path and not path.startswith("/"):
        table.wrong(name, "this must be an absolute path", f"such as {example}")
    return path


def is_loopback(address: str) -> bool:
    """True if only this host can reach the address. What cannot be read is not one."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return (mapped or found).is_loopback


def must_be_bindable(settings: ListenSettings, addresses: Sequence[str], tokens: int) -> None:
    """Refuse what would let the network in without TLS, or without anybody who may come in.

    `addresses` are all that the host of the settings stands for, and `tokens` are those that are kept.
    """
    far = [address for address in addresses if not is_loopback(address)]
    if not far:
        return
    which = f"{settings.host}:{settings.port}" + ("" if far == [settings.host] else f" ({', '.join(far)})")
    if not settings.tls:
        raise RefusedError(
            f"[listen] asks for {which}, which others than this host can reach, without TLS: nothing listens",
            "set tls_cert and tls_key, or listen on 127.0.0.1 and come by ssh",
        )
    if not tokens:
        raise RefusedError(
            f"[listen] asks for {which}, which others than this host can reach, and there is no token: nothing listens",
            "start the daemon without [listen], make a token with corral token add, and start it again",
        )


def shown_address(host: str, port: int) -> str:
    """HOST:PORT as it is written in an address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
