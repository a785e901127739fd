"""What a merge says: in the commit that it is, and to the agent or the person whose it is when it does not go in."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from corral.domain.errors import CorralError, RefusedError
from corral.domain.foreign_words import own_remedy, told_error
from corral.domain.merge_records import GateRun, Merge
from corral.domain.records import SUPERVISOR
from corral.service.merge_gates import described
from corral.service.msg import Msg

log = logging.getLogger("corral.daemon")

#: Of what a gate wrote, and of files in conflict; `corral merge show` has the rest.
_MOST_OUTPUT, _MOST_FILES = 4_000, 50


def message_of(merge: Merge, target: str) -> str:
    """The message of the merge commit: what went in, and who is accountable."""
    trailers = [
        f"Corral-Merge: {merge.name}",
        f"Corral-Team: {merge.team}",
        *([f"Corral-Agent: {merge.party}"] if merge.agent else []),
        f"Corral-Person: {merge.person}",
        *(f"Corral-Token: {token}" for token in merge.tokens),
    ]
    subject = f"{merge.subject}\n\n" if merge.subject else ""
    return f"Merge {merge.branch} into {target}\n\n{subject}" + "\n".join(trailers) + "\n"


class MergeLetters:
    """Messages into the mailbox of whose merge it is. Sent before the end is written: after a crash, rather twice than
    not at all.
    """

    def __init__(self, msg: Msg) -> None:
        self._msg = msg

    async def conflict(self, merge: Merge, target: str, base: str, files: Sequence[str]) -> None:
        """Its branch does not go together with the target."""
        named = "".join(f"  {file}\n" for file in files[:_MOST_FILES])
        more = f"  and {len(files) - _MOST_FILES} more\n" if len(files) > _MOST_FILES else ""
        await self._send(
            merge,
            f"{merge.name}: {merge.branch} conflicts with {target}",
            f"{merge.branch} cannot be merged into {target} (now at {base[:12]}). In conflict:\n{named}{more}"
            f"In your workspace: git merge {target}, resolve them, commit, then: corral merge retry {merge.name}",
        )

    async def failed(self, merge: Merge, target: str, run: GateRun) -> None:
        """A gate failed on the merged tree."""
        output = run.output[-_MOST_OUTPUT:]
        await self._send(
            merge,
            f"{merge.name}: {merge.branch} did not pass a gate",
            f"{merge.branch}, merged into {target}, did not pass: {described(run)}. The end of what it wrote:\n\n"
            f"{output}\n\n"
            f"git merge {target} brings what it was merged with into your workspace. Mend it, commit, then: "
            f"corral merge retry {merge.name}. corral merge show {merge.name} has more.",
        )

    async def refused(self, merge: Merge, target: str, error: RefusedError) -> None:
        """It may not go in."""
        again = f"corral merge retry {merge.name}"
        why = ". ".join(filter(None, (told_error(error), own_remedy(error))))
        if merge.tokens:
            again += (
                " --token N, with the token of the lease that you hold then. Without --token it relies on the same as "
                f"before ({', '.join(map(str, merge.tokens))})"
            )
        await self._send(
            merge,
            f"{merge.name}: {merge.branch} may not go into {target}",
            f"{why}. To try it again: {again}",
        )

    async def waits(self, merge: Merge, why: str) -> None:
        """Somebody else has to do something before it goes in."""
        await self._send(
            merge,
            f"{merge.name}: {merge.branch} waits",
            f"{merge.branch} cannot go into {merge.target} now: {why}. It stays in line and goes on by itself; "
            f"corral merge cancel {merge.name} takes it out",
        )

    async def _send(self, merge: Merge, subject: str, text: str) -> None:
        try:
            await self._msg.send(
                SUPERVISOR, SUPERVISOR.user, [merge.party], text, subject=subject[:200], user=merge.person
            )
        except CorralError as error:
            # A mailbox may be full. How the merge ended is told by `merge show` and the journal all the same.
            log.warning("%s was not told about %s: %s", merge.party, merge.name, error.message)
