"""What agents are told by way of their hooks: of unread messages, and words whose way by the keyboard is barred.

A hook is *offered* what to tell, and says when it has handed it on: then, and not before, messages are `injected`, and
words that were sent are `observed`. While an offer stands, no other hook of the agent is offered anything. If nobody
answers for it, it lapses: messages are offered again, so one is told twice only if a hook or the daemon ended between
the telling and the word that it was done; of words nobody can tell then, and they are `unknown`.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from dataclasses import dataclass

from corral.domain.errors import NotFoundError
from corral.domain.hook_notices import Notice, notice, seen_words, typed_words
from corral.domain.msg_parties import shown
from corral.domain.records import Who
from corral.domain.sends import Send
from corral.service.msg import Msg
from corral.service.send_work import SendWork
from corral.service.sends import Sends

#: Longer than a hook waits for anything.
OFFER_SECONDS = 15.0
_NOTHING = Notice("", ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What a hook may tell, and the word by which it says that it has."""

    #: For the model.
    text: str
    #: For whoever sits at the agent's terminal; empty if there is nothing to be seen.
    seen: str
    receipt: str
    #: The messages that the text tells of.
    numbers: tuple[int, ...]
    #: The id of the words that are in it; empty for none.
    words: str
    #: By the clock of the event loop.
    until: float


class HookNotices:
    """The use case. It remembers one offer for each agent at most, and nothing else."""

    def __init__(self, msg: Msg, sends: Sends, send_work: SendWork) -> None:
        self._msg = msg
        self._sends = sends
        self._send_work = send_work
        #: By agent.
        self._offers: dict[tuple[str, str], Offer] = {}
        #: Agents for whom one is being put together.
        self._offering: set[tuple[str, str]] = set()

    async def offer(self, key: tuple[str, str], run: str, *, at_work: bool) -> Offer | None:
        """What a hook of this run may tell its agent now; None if there is nothing, or another hook is at it.

        `at_work`: the agent is in the middle of something, and not just given something to do.
        """
        standing = self._offers.get(key)
        if key in self._offering or (standing is not None and _now() < standing.until):
            return None
        self._offers.pop(key, None)
        self._offering.add(key)
        try:
            offer = await self._made(key, run, at_work=at_work)
        finally:
            self._offering.discard(key)
        if offer is not None:
            self._offers[key] = offer
        return offer

    async def _made(self, key: tuple[str, str], run: str, *, at_work: bool) -> Offer | None:
        told = notice(self._msg.untold("/".join(key))) or _NOTHING
        send = await self._send_work.begin_telling(key, run, OFFER_SECONDS) if at_work else None
        if not told.numbers and send is None:
            return None
        words, seen = self._in_words(send)
        return Offer(
            text="\n\n".join(filter(None, [words, told.text])),
            seen=seen,
            receipt=secrets.token_hex(8),
            numbers=told.numbers,
            words=send.message if send is not None else "",
            until=_now() + OFFER_SECONDS,
        )

    def _in_words(self, send: Send | None) -> tuple[str, str]:
        if send is None:
            return "", ""
        sender, text = shown(send.by.user) if send.by.uid >= 0 else "Corral", self._sends.text(send)
        return typed_words(sender, text), seen_words(sender, text)

    def offered_to(self, receipt: str) -> tuple[str, str] | None:
        """The agent that an offer was made to, by team and name; None if it is made no more."""
        return next((key for key, one in self._offers.items() if one.receipt == receipt), None)

    async def told(self, who: Who, receipt: str) -> Offer:
        """A hook has handed on what it was offered, and that is on the disk. `NotFoundError` if the offer is made no
        more.
        """
        key, offer = next(((key, one) for key, one in self._offers.items() if one.receipt == receipt), (None, None))
        if key is None or offer is None:
            raise NotFoundError("there is no such offer any more", "messages in it are offered again at a later event")
        party = "/".join(key)
        try:
            if offer.words:
                await self._send_work.told(offer.words)
            await asyncio.gather(*(self._injected(who, party, number) for number in offer.numbers))
        finally:
            # Not before: what is not written yet would be offered again.
            if self._offers.get(key) is offer:
                del self._offers[key]
        return offer

    async def _injected(self, who: Who, party: str, number: int) -> None:
        with contextlib.suppress(NotFoundError):  # acked meanwhile, and forgotten
            await self._msg.injected(who, party, number)


def _now() -> float:
    return asyncio.get_running_loop().time()
