"""What a daemon that decides or keeps a trail puts around its handlers; one that does neither does not load this."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corral.api.about_table import Table
from corral.api.auditing import SOCKET_RULE
from corral.api.authorising import Authorising
from corral.api.kept_finders import KeptFinders
from corral.api.meant import Meant
from corral.api.member_finders import MemberFinders
from corral.api.token_finders import TokenFinders

if TYPE_CHECKING:
    from corral.api.services import Services
    from corral.service.authority import Authority


def authorising(services: Services, authority: Authority) -> Authorising:
    """The decision around every handler, and the trail around both."""
    return Authorising(
        authority, services.audit, services.registry, services.processes, services.up.files, _table(services)
    )


def meant(services: Services) -> Meant:
    """What requests are about, for the trail of a daemon that does not decide."""
    return Meant(services.registry, services.processes, services.up.files, _table(services), SOCKET_RULE)


def _table(services: Services) -> Table:
    kept = KeptFinders(
        inbox=services.inbox,
        sends=services.sends,
        msg=services.msg,
        merges=services.merges,
        notices=services.hooks.notices,
    )
    members = MemberFinders(services.shared.members if services.shared is not None else None)
    tokens = TokenFinders(None if services.network is None else services.network.tokens)
    return Table.of(kept, members, tokens)
