"""What a daemon that decides puts around its handlers; one of a single person does not load this."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corral.api.about_table import Table
from corral.api.authorising import Authorising
from corral.api.kept_finders import KeptFinders
from corral.api.member_finders import MemberFinders
from corral.api.token_finders import TokenFinders

if TYPE_CHECKING:
    from corral.api.services import Services
    from corral.service.authority import Authority


def authorising(services: Services, authority: Authority) -> Authorising:
    """The decision around every handler, and the trail around both."""
    kept = KeptFinders(
        inbox=services.inbox,
        sends=services.sends,
        msg=services.msg,
        merges=services.merges,
        notices=services.hooks.notices,
    )
    members = MemberFinders(services.shared.members if services.shared is not None else None)
    tokens = TokenFinders(None if services.network is None else services.network.tokens)
    table = Table.of(kept, members, tokens)
    return Authorising(authority, services.audit, services.registry, services.processes, table)
