"""`[policy]` of an instance's settings: who decides, and how long it may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from corral.domain.errors import BadPolicyError

_FIELDS = ("url", "seconds")
_LONGEST_URL = 2000
_LEAST_SECONDS, _MOST_SECONDS = 0.01, 30.0
_URL_REMEDY = 'such as url = "http://127.0.0.1:8181" or url = "https://opa.example.org"'


#: How long a decision may take before it is a denial, where nothing else is said.
DEFAULT_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicySettings:
    """Who decides."""

    #: The address of an OPA server; empty if the daemon decides itself.
    url: str = ""
    #: How long a decision may take before it is a denial.
    seconds: float = DEFAULT_SECONDS


def settings_of(document: Mapping[str, object], file: str) -> PolicySettings:
    """What `[policy]` in this document says. Raises BadPolicyError for what cannot be."""
    table = document.get("policy", {})
    if not isinstance(table, dict):
        raise BadPolicyError(f"{file}: policy is no table", "write it as [policy]")
    for key in table:
        if key not in _FIELDS:
            raise BadPolicyError(f"{file}: [policy] has no {key}", f"it takes {' and '.join(_FIELDS)}")
    url, seconds = table.get("url", ""), table.get("seconds", DEFAULT_SECONDS)
    if not isinstance(url, str) or (url and not _is_address(url)):
        raise BadPolicyError(f"{file}: url of [policy] is no address of an OPA server", _URL_REMEDY)
    if url and not _is_safe(url):
        raise BadPolicyError(
            f"{file}: url of [policy] leads off this host without TLS, where anybody on the way could allow everything",
            "use https, or an OPA server on 127.0.0.1",
        )
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise BadPolicyError(f"{file}: seconds of [policy] is no number", "such as seconds = 0.5")
    if not _LEAST_SECONDS <= seconds <= _MOST_SECONDS:
        raise BadPolicyError(
            f"{file}: seconds of [policy] cannot be {seconds:g}", f"from {_LEAST_SECONDS:g} to {_MOST_SECONDS:g}"
        )
    return PolicySettings(url=url.rstrip("/"), seconds=float(seconds))


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False
    plain = url.isascii() and url.isprintable() and " " not in url and len(url) <= _LONGEST_URL
    return usable and plain and not parts.query and not parts.fragment


def _is_safe(url: str) -> bool:
    parts = urlsplit(url)
    if parts.scheme == "https" or parts.hostname == "localhost":
        return True
    try:
        return ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False
