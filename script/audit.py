#!/usr/bin/env python3
"""Is anything that is locked known to be weak?

  ./script/audit.py           every package of requirements*.lock, asked of the package index

Two questions. Is every package pinned to a version and to hashes? That needs no network and always counts. And does
the index know a vulnerability of that version? Where one is known the exit code is 1.

Not every index answers for every version: mirrors often tell only about the newest. What could not be asked about is
"NOT AUDITED", named, and no failure, unless CORRAL_AUDIT=require. With CORRAL_AUDIT=reach it is one only if the index
does not answer at all, or tells about nothing: what runs by itself must not pass unaudited, and an index that has moved
on to newer versions is no reason to fail. CORRAL_AUDIT=off asks nothing.
CORRAL_AUDIT_URL names another index (https://pypi.org/pypi); a project's document must be at URL/NAME/json.
"""

from __future__ import annotations

import glob
import http.client
import json
import os
import re
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_INDEX = "https://pypi.org/pypi"
_PINNED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9.!+_-]+)")
_HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")
_SECONDS = 15.0
_AT_ONCE = 8
#: Failures of the network after which there is no sense in asking about the others.
_ENOUGH = 3


class UnreachableError(Exception):
    """The index did not answer, or said something that cannot be read."""


@dataclass
class Report:
    """What was found."""

    audited: int = 0
    #: Package and version, and what is known of it.
    known: list[str] = field(default_factory=list)
    not_audited: list[str] = field(default_factory=list)
    #: The index failed so often that it was not asked any more.
    gave_up: bool = False


def loose(text: str) -> list[str]:
    """The requirements of a lock that are not pinned to one version and at least one hash."""
    wrong = []
    for line in text.replace("\\\n", " ").splitlines():
        entry = line.split(" #")[0].strip()
        if not entry or entry.startswith("#"):
            continue
        if not _PINNED.match(entry) or not _HASH.search(entry):
            wrong.append(entry.split(" ")[0])
    return wrong


def pinned(text: str) -> set[tuple[str, str]]:
    """The packages of a lock and their versions."""
    return {match.groups() for line in text.splitlines() if (match := _PINNED.match(line))}  # type: ignore[misc]


def audit(packages: set[tuple[str, str]], index: str) -> Report:
    """Ask about each; several at once, because most of the time is waiting."""
    report, failures = Report(), 0

    def one(package: tuple[str, str]) -> tuple[list[str] | None, str]:
        nonlocal failures
        if failures >= _ENOUGH:
            return None, "the index does not answer"
        try:
            return _vulnerabilities(*package, index)
        except UnreachableError as error:
            failures += 1
            return None, str(error)

    ordered = sorted(packages)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for (name, version), (known, why) in zip(ordered, pool.map(one, ordered), strict=True):
            if known is None:
                report.not_audited.append(f"{name} {version}: {why}")
                continue
            report.audited += 1
            report.known += [f"{name} {version}: {told}" for told in known]
    report.gave_up = failures >= _ENOUGH
    return report


def _vulnerabilities(name: str, version: str, index: str) -> tuple[list[str] | None, str]:
    """What is known of that version; None and the reason if the index cannot say."""
    document = _document(f"{index}/{name}/{version}/json")
    if document is None:
        # A mirror that has only the newest: what it says there is about that one and no other.
        document = _document(f"{index}/{name}/json")
        if document is None:
            return None, "the index does not know it"
    told = document.get("info", {}).get("version")
    if told != version:
        return None, f"the index tells only about {told}"
    if not isinstance(document.get("vulnerabilities"), list):
        return None, "the index tells nothing about vulnerabilities"
    return [_told(entry) for entry in document["vulnerabilities"] if not entry.get("withdrawn")], ""


def _told(entry: dict[str, object]) -> str:
    mended = entry.get("fixed_in")
    until = f", mended in {', '.join(map(str, mended))}" if isinstance(mended, list) and mended else ""
    return f"{entry.get('id')}{until}: {entry.get('summary') or entry.get('link') or ''}".rstrip(": ")


def _document(address: str) -> dict[str, Any] | None:
    """The document there, None if there is none."""
    try:
        with urllib.request.urlopen(address, timeout=_SECONDS) as answer:  # noqa: S310 # nosec B310 # see main
            document = json.load(answer)
    except urllib.error.HTTPError as error:
        if error.code == http.client.NOT_FOUND:
            return None
        raise UnreachableError(f"the index answers {error.code}") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise UnreachableError(f"the index does not answer: {error}") from error
    if not isinstance(document, dict):
        raise UnreachableError("the index answers something else")
    return document


def main(locks: list[str], environment: dict[str, str]) -> int:
    """The exit code: 0 if nothing is known to be wrong, else 1."""
    rule = environment.get("CORRAL_AUDIT", "auto")
    index = environment.get("CORRAL_AUDIT_URL", _INDEX).rstrip("/")
    if rule not in ("auto", "reach", "require", "off") or not index.startswith(("https://", "http://")):
        print(
            f"CORRAL_AUDIT is {rule}: auto, reach, require or off; CORRAL_AUDIT_URL is {index}: http(s)",
            file=sys.stderr,
        )
        return 2
    packages: set[tuple[str, str]] = set()
    unpinned = []
    for lock in locks:
        with open(lock, encoding="utf-8") as file:
            text = file.read()
        unpinned += [f"{os.path.basename(lock)}: {entry}" for entry in loose(text)]
        packages |= pinned(text)
    for entry in unpinned:
        print(f"NOT PINNED: {entry} lacks a version or a hash: ./script/lock")
    if rule == "off":
        print(f"NOT AUDITED: {len(packages)} packages, because CORRAL_AUDIT=off")
        return 1 if unpinned else 0
    report = audit(packages, index)
    for told in report.known:
        print(f"VULNERABLE: {told}")
    for told in report.not_audited:
        print(f"NOT AUDITED: {told}")
    print(f"{len(packages)} packages: {report.audited} audited, {len(report.known)} vulnerabilities known")
    missed = report.not_audited and rule == "require"
    if missed:
        print("CORRAL_AUDIT=require, and yet not all were audited")
    unreached = rule == "reach" and (report.gave_up or not report.audited)
    if unreached:
        print(f"CORRAL_AUDIT=reach, and {index} does not answer: try again when it does, or name another index")
    return 1 if unpinned or report.known or missed or unreached or not packages else 0


if __name__ == "__main__":
    if sys.argv[1:]:
        print(__doc__)
        sys.exit(0 if sys.argv[1] in ("-h", "--help") else 2)
    sys.exit(main(sorted(glob.glob(os.path.join(_ROOT, "requirements*.lock"))), dict(os.environ)))
