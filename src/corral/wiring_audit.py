"""Puts the audit trail together: for the daemon, which writes it, and for commands that read its files themselves."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING

from corral.domain.audit import Entry
from corral.domain.audit_filter import Wanted
from corral.domain.errors import CorralError
from corral.places import Places

if TYPE_CHECKING:
    from corral.adapters.audit.reading import Reader
    from corral.domain.audit_verify import Report, Writer
    from corral.service.audit import Audit
    from corral.service.authority import Authority
    from corral.service.witness import WitnessedStore


async def open_audit(places: Places, instance: str, *, shared: bool = False) -> Audit | None:
    """The audit of an instance, if it is to have one: a shared server has, unless it is configured not to, and another
    instance has if it is configured so. `CorralError` if it cannot be kept."""
    from corral import __version__, config

    terms = config.audit_terms(places)
    if not (shared if terms.enabled is None else terms.enabled):
        return None
    from corral.adapters.audit.shipping import Shipper
    from corral.adapters.audit.writer import TrailWriter
    from corral.service.audit import Audit
    from corral.service.audit_shipping import Shipping

    about = {"instance": instance, "version": __version__, "pid": os.getpid()}
    trail = await TrailWriter.open(places.audit_dir, terms, time.time, about)
    shipping = None
    if terms.checkpoint_command or terms.checkpoint_directory:
        shipping = Shipping(Shipper(terms.checkpoint_command, terms.checkpoint_directory))
    audit = Audit(trail, terms, time.time, shipping)
    await audit.begin()
    return audit


def hear_acts(store: WitnessedStore, audit: Audit, authority: Authority | None) -> None:
    """Have in the trail what Corral does by itself, and what comes of requests later."""
    from corral.service.audit_acts import ActsOfCorral

    store.listen(ActsOfCorral(audit, None if authority is None else authority.caller).hear)


def verify(path: str, *, shipped: str, configured: str, keys: list[str], writer: Writer) -> Report:
    """Verify the trail at `path`."""
    from corral.adapters.audit.verifying import verify

    return verify(path, shipped=shipped, configured=configured, keys=keys, writer=writer)


def checkpoint_directory(places: Places) -> str:
    """Where the instance ships its checkpoints to; empty if nowhere, or if its configuration cannot be read: what is
    wrong there is the daemon's to tell, and keeps nobody from verifying."""
    from corral import config

    try:
        return config.audit_terms(places).checkpoint_directory
    except (CorralError, OSError):
        return ""


def public_key(path: str) -> bytes | None:
    """The public key of the trail at `path`, in PEM; None if it has none, `WrongUseError` if that is no key."""
    from corral.adapters.audit.files import Directory
    from corral.adapters.audit.keys import public_of, read_own

    directory = Directory.look(path)
    try:
        data = public_of(directory)
        if data is not None:
            read_own(data, directory)
        return data
    finally:
        directory.close()


def may_read(places: Places) -> bool:
    """True if this process may read the files of the instance's trail."""
    return os.access(places.audit_dir, os.R_OK | os.X_OK)


def entries(
    path: str, wanted: Wanted, *, last: int | None, after: int, follow: bool, unreadable: Callable[[int], None]
) -> Generator[Entry, None, None]:
    """The entries of the trail at `path` that are wanted, from its files; with `follow`, without an end.

    If lines cannot be read, `unreadable` is told how many, behind what is there; with `follow`, again when there are
    more.
    """
    from corral.adapters.audit.reading import Reader

    reader = Reader(path)
    try:
        if last is not None:
            yield from reader.last(last, wanted.fits)
        else:
            if after:
                reader.go_behind(after)
            elif wanted.since:
                reader.go_to(wanted.since)
            yield from (entry for entry in reader.entries() if entry.number > after and wanted.fits(entry))
        if reader.unreadable:
            unreadable(reader.unreadable)
        if follow:
            yield from (entry for entry in _coming(reader, path, unreadable) if wanted.fits(entry))
    finally:
        reader.close()


def _coming(reader: Reader, path: str, unreadable: Callable[[int], None]) -> Iterator[Entry]:
    """What is written from now on, as the kernel tells that something was."""
    from corral.adapters.files.watches import FileWatches

    with asyncio.Runner() as runner:
        changed = asyncio.Event()
        watches = FileWatches()

        async def begin() -> Callable[[], None]:
            return watches.watch(path, lambda _: changed.set())

        async def finish() -> None:
            end_watch()

        async def growth() -> None:
            await changed.wait()
            changed.clear()

        end_watch = runner.run(begin())
        try:
            while True:
                known = reader.unreadable
                yield from reader.entries()
                if reader.unreadable > known:
                    unreadable(reader.unreadable)
                runner.run(growth())
        finally:
            runner.run(finish())
