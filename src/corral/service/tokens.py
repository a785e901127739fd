"""The use cases around tokens, with which people ask over TCP. Whether somebody may make one, the policy says."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable

import msgspec

from corral.domain import tokens as rules
from corral.domain.errors import NotFoundError
from corral.domain.records import NewEvent, Who
from corral.domain.tokens import Holder, Token
from corral.ports.store import Change, Item
from corral.service.context import Context

_KIND = "token"
_encode = msgspec.json.Encoder().encode

#: Who somebody is on this host, by name; None for nobody who can have a token.
FindHolder = Callable[[str], Holder | None]


class Tokens:
    """The tokens by id: in memory for whoever asks, and in the store."""

    def __init__(self, context: Context, holder: FindHolder) -> None:
        self._store = context.store
        self._now = context.now
        self._holder = holder
        self._known: dict[str, Token] = {}
        #: When each was last shown, since this daemon runs.
        self._used: dict[str, float] = {}
        self._changing = asyncio.Lock()
        self._watchers: list[Callable[[], None]] = []

    async def load(self) -> None:
        """Read which there are."""
        items = await self._store.items(_KIND)
        self._known = {item.key: msgspec.json.decode(item.value, type=Token) for item in items}

    def __len__(self) -> int:
        return len(self._known)

    def watch(self, tell: Callable[[], None]) -> None:
        """Have somebody told when one was revoked."""
        self._watchers.append(tell)

    def of(self, user: str) -> list[Token]:
        """Those of somebody, or of everybody if the name is empty, the oldest first."""
        chosen = (token for token in self._known.values() if user in ("", token.user))
        return sorted(chosen, key=lambda token: (token.created, token.id))

    def get(self, id_: str) -> Token | None:
        """The token of that id, if there is one."""
        return self._known.get(id_)

    def state(self, token: Token) -> str:
        """Whether it is good: see `domain.tokens.state`."""
        return rules.state(token, self._holder(token.user), self._now())

    def used(self, token: Token) -> float | None:
        """When it was last shown, since this daemon runs."""
        return self._used.get(token.id)

    def accepted(self, text: str) -> Token | str:
        """The token that this is, if it is good now; else in words why it is not."""
        id_ = rules.id_in(text)
        if not id_:
            return "with something that is no token"
        token = self._known.get(id_)
        if token is None or not rules.fits(text, token):
            return "with a token that there is not, or not any more"
        state = self.state(token)
        if state != rules.VALID:
            why = "has expired" if state == rules.EXPIRED else f"is of {token.user}, who is no member any more"
            return f"with the token {id_}, which {why}"
        self._used[id_] = self._now()
        return token

    def is_good(self, id_: str) -> bool:
        """Whether the token of that id would be accepted now."""
        token = self._known.get(id_)
        return token is not None and self.state(token) == rules.VALID

    async def add(self, who: Who, user: str, *, note: str, seconds: float | None) -> tuple[Token, str]:
        """Make a token of `user`: what is kept of it, and the token itself, which nobody can be told again."""
        async with self._changing:
            holder = self._holder(user)
            if holder is None:
                remedy = "corral member ls shows who is, and corral token add --for NAME makes one for a member"
                raise NotFoundError(f"{user} has no record as a member of this host, and a token is of one", remedy)
            rules.must_be_possible(self._known.values(), user, note, seconds)
            id_ = secrets.token_hex(rules.ID_BYTES)
            text, now = rules.spelled(id_, secrets.token_urlsafe(rules.SECRET_BYTES)), self._now()
            token = Token(
                id=id_,
                user=user,
                uid=holder.uid,
                digest=rules.digest(text),
                note=note,
                created=now,
                by=who.user,
                expires=None if seconds is None else now + seconds,
            )
            await self._commit(who, now, "token.added", token, put=(Item(_KIND, id_, _encode(token)),))
            self._known[id_] = token
            return token, text

    async def remove(self, who: Who, id_: str) -> Token:
        """Revoke a token: it is dead when this returns, and whoever asks with it is hung up on."""
        async with self._changing:
            token = self._known.get(id_)
            if token is None:
                raise no_such_token(id_)
            await self._commit(who, self._now(), "token.removed", token, drop=((_KIND, id_),))
            del self._known[id_]
            self._used.pop(id_, None)
        for tell in self._watchers:
            tell()
        return token

    async def _commit(
        self,
        who: Who,
        now: float,
        event: str,
        token: Token,
        *,
        put: tuple[Item, ...] = (),
        drop: tuple[tuple[str, str], ...] = (),
    ) -> None:
        told: dict[str, object] = {"id": token.id, "user": token.user, "note": token.note}
        events = (NewEvent(event=event, data=told),)
        await self._store.commit(Change(who=who, time=now, put_items=put, drop_items=drop, events=events))


def no_such_token(id_: str) -> NotFoundError:
    """There is none of that id, or none that the caller may know of."""
    return NotFoundError(f"there is no token {id_!r}", "corral token ls shows those there are")
