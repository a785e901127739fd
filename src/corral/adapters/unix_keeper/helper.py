"""Asking the privileged helper of a shared server for something, by way of sudo (ADR 19)."""

from __future__ import annotations

import asyncio
import json
import logging
from asyncio.subprocess import PIPE
from collections import defaultdict
from collections.abc import Mapping, Sequence

from corral.background import Background
from corral.domain.errors import CorralError, RefusedError, UnavailableError, WrongUseError
from corral.domain.host_names import HELPER

log = logging.getLogger("corral.daemon")

#: The helper gives itself 65 seconds; then it has ended, or something is wrong with the host.
_SECONDS = 75.0
#: Runs for one user at once.
_AT_ONCE = 4
_LONGEST_ANSWER = 65536
_MORE = "journalctl -t corral-helper has more; sudo corral host setup --check"
_ERRORS: Mapping[str, type[CorralError]] = {
    "refused": RefusedError,
    "wrong_use": WrongUseError,
    "unavailable": UnavailableError,
}


class Helper:
    """Runs it, for each user a few at a time, and waits for each without keeping anybody else waiting.

    What it does for a user may last: their manager may stand still, or a directory of theirs.
    """

    def __init__(self, argv: Sequence[str] = ("/usr/bin/sudo", "-n", HELPER), seconds: float = _SECONDS) -> None:
        self._argv = tuple(argv)
        self._seconds = seconds
        #: By user: nobody waits for what is done for others.
        self._turns: defaultdict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(_AT_ONCE))
        self._background = Background()

    async def ask(self, verb: str, user: str, **fields: str) -> Mapping[str, object]:
        """What the helper answers. What it refuses is `RefusedError`; without an answer it is `UnavailableError`."""
        async with self._turns[user]:
            try:
                helper = await asyncio.create_subprocess_exec(
                    *self._argv, stdin=PIPE, stdout=PIPE, stderr=PIPE, cwd="/", env={"PATH": "/usr/bin:/bin"}
                )
            except OSError as error:
                raise _silent(f"{self._argv[0]}: {error.strerror}") from error
            request = json.dumps({"verb": verb, "user": user, **fields}).encode("ascii")
            # It is root's, so it cannot be ended from here. It ends by itself, whether or not anybody still waits.
            answering = self._background.spawn(helper.communicate(request), name="the helper")
            done, _ = await asyncio.wait({answering}, timeout=self._seconds)
            if not done:
                log.error("the helper (pid %d) does not end", helper.pid)
                raise _silent(f"it has not answered to {verb} for {user} within {self._seconds:.0f} s")
            output, said = answering.result()
        return _read(output, said.decode("utf-8", "replace"))


def _read(output: bytes, said: str) -> Mapping[str, object]:
    try:
        answer = json.loads(output[:_LONGEST_ANSWER])
        if answer["ok"]:
            return dict(answer)
        error = answer["error"]
        kind, message = _ERRORS.get(error["code"], CorralError), str(error["message"])
        remedy = str(error["remedy"]) or _MORE
    except (ValueError, KeyError, TypeError):
        raise _silent(said.strip()[-300:] or "it said nothing that can be read") from None
    raise kind(f"the helper of this host: {message}", remedy)


def _silent(why: str) -> UnavailableError:
    return UnavailableError(
        f"the privileged helper of this host gave no answer: {why}",
        "sudo corral host setup --check tells what is wrong",
    )
