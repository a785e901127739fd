"""Puts a policy together: which one decides, and what `corral policy` does with it in its own process."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from corral.config import policy_settings
from corral.domain.errors import BadPolicyError
from corral.domain.host_names import MEMBERS
from corral.domain.policy import ATTACH
from corral.domain.policy_verbs import strange_verbs
from corral.places import Places
from corral.ports.policy import Facts, NoFacts, Policy

if TYPE_CHECKING:
    from corral.adapters.policy.sources import Sources
    from corral.api.member_routes import HangUp, Shared
    from corral.domain.roles import Tables
    from corral.service.authority import Authority
    from corral.service.context import Context
    from corral.service.members import Members
    from corral.sharing import Door

log = logging.getLogger("corral")

#: A test of a policy that takes longer has failed.
_TEST_SECONDS = 10.0


async def policy_of(places: Places) -> Policy:
    """The policy of an instance: of the OPA server that its settings name, else of an engine on this host.

    Raises BadPolicyError if the settings, or the files, say what cannot be.
    """
    settings = policy_settings(places)
    if settings.url:
        from corral.adapters.policy.opa import OpaPolicy

        return OpaPolicy(settings.url, settings.seconds)
    from corral.adapters.policy import sources
    from corral.adapters.policy.rego_policy import RegoPolicy

    policy = RegoPolicy(sources.read(places.policy, writers=places.writers), settings.seconds)
    await policy.start()
    return policy


def problem_of(places: Places) -> tuple[str, str]:
    """Why a daemon that starts now could not use the policy of an instance, and what helps; empty if it could."""

    async def tried() -> tuple[str, str]:
        try:
            policy = await policy_of(places)
        except BadPolicyError as error:
            return error.message, error.remedy
        await policy.close()
        return "", ""

    return asyncio.run(tried())


async def policy_or_closed(places: Places) -> Policy:
    """As `policy_of`, for a daemon: with a policy that cannot be used it comes up as well, and denies everything."""
    try:
        policy = await policy_of(places)
        for doubt in _doubts(places):
            log.warning("%s", doubt)
        return policy
    except BadPolicyError as error:
        from corral.adapters.policy.closed import ClosedPolicy

        log.error("everything is denied, because the policy cannot be used: %s (%s)", error.message, error.remedy)
        return ClosedPolicy(error.message)


async def shared_of(context: Context, group: str, hang_up: HangUp) -> Shared:
    """Members and policy of a shared server, whose members are in `group`. The policy is to be closed at the end.

    `hang_up` ends the connections of who is no member any more.
    """
    from corral.adapters.host.accounts import HostAccounts
    from corral.api.member_routes import Shared
    from corral.service.member_facts import MemberFacts
    from corral.service.members import Members

    members = Members(context, HostAccounts({group: MEMBERS}), tables_of(context.places))
    await members.load()
    return Shared(
        members=members,
        facts=MemberFacts(context.registry, members),
        policy=await policy_or_closed(context.places),
        hang_up=hang_up,
    )


def open_door(door: Door, path: str, members: Members) -> socket.socket:
    """The daemon's socket, listening: for whoever is a member, and the users of their agents, at any time."""

    def admitted() -> list[int]:
        return [member.uid for member in members.all()]

    members.watch(lambda: door.admit(path, admitted()))
    return door.listen(path, admitted())


def authority_of(shared: Shared) -> Authority:
    """Who decides there about requests."""
    from corral.service.authority import Authority

    return Authority(shared.policy, shared.facts)


def tables_of(places: Places) -> Callable[[], Tables]:
    """Gives the tables of the policy as they are now, again and again; or raises what is wrong with them."""
    from corral.adapters.policy import sources

    try:
        tables = sources.read(places.policy, writers=places.writers).tables
    except BadPolicyError as error:
        wrong = error

        def refuse() -> Tables:
            raise BadPolicyError(wrong.message, wrong.remedy)

        return refuse
    return lambda: tables


def facts_of(shared: Shared | None) -> Facts:
    """What is known of people. Of an instance that has no members, nothing."""
    return NoFacts() if shared is None else shared.facts


def _doubts(places: Places) -> list[str]:
    """What is odd about a host's own rules, and yet no mistake. An OPA server has rules that are not here."""
    from corral.adapters.policy import sources

    if policy_settings(places).url:
        return []
    return _doubtful(sources.read(places.policy, writers=places.writers))


def _doubtful(sources: Sources) -> list[str]:
    own = [module for module in sources.modules if not module.ships]
    return [told for one in own for told in strange_verbs(one.path, one.text, sources.tables.verbs)]


def verbs(places: Places) -> list[str]:
    """The verbs that the policy of this host knows, as far as its files can be read; else those that ship."""
    from corral.adapters.policy import sources

    directory = places.policy if os.access(places.policy, os.R_OK | os.X_OK) else ""
    return [ATTACH, *sources.read(directory, trusted=False).tables.verbs]


def check(places: Places, asked: Mapping[str, object]) -> dict[str, object]:
    """The document of `corral policy check --json`; `asked` has the fields of `service.policy_check.Asked`."""
    from corral.service.policy_check import Asked, explain

    async def decided() -> dict[str, object]:
        policy = await policy_of(places)
        try:
            return (await explain(policy, facts_of(None), Asked(**asked))).as_json()  # type: ignore[arg-type]
        finally:
            await policy.close()

    return asyncio.run(decided())


def test(directory: str) -> dict[str, object]:
    """The document of `corral policy test --json`."""
    from corral.adapters.policy import sources
    from corral.adapters.policy.testing import run_tests

    place = os.path.abspath(directory)
    outcomes = asyncio.run(run_tests(place, _TEST_SECONDS))
    doubts = _doubtful(sources.read(place, tests=True, trusted=False))
    rows = [{"file": one.file, "test": one.name, "passed": one.passed, "problem": one.problem} for one in outcomes]
    passed = sum(one.passed for one in outcomes)
    counted = {"passed": passed, "failed": len(rows) - passed}
    return {"directory": directory, "tests": rows, **counted, "warnings": doubts}


def show(places: Places, to: str | None) -> dict[str, object]:
    """The document of `corral policy show --json`; with `to`, the policy is also written there, for an OPA server."""
    from corral.adapters.policy import sources
    from corral.adapters.policy.testing import compiled

    settings, found = policy_settings(places), sources.read(places.policy, writers=places.writers)
    if not settings.url:  # an OPA server knows more than the engine here
        asyncio.run(compiled(found))
    return {
        "url": settings.url,
        "seconds": settings.seconds,
        "directory": places.policy,
        "files": [module.path for module in found.modules],
        "tables": found.data["tables"],
        "written": sources.write(found, to) if to is not None else [],
    }
