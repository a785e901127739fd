"""Roles as data: what the tables of a policy say of each, read strictly.

The tables are the `tables` of data.json: those that ship with Corral, and over them those of a host and of its teams. A
role is granted acts (`read`, `steer`, …), each within scopes (`own`, `team`, …); every verb of the API is one act. What
scopes reach is told by the Rego beside the tables, and so is whatever is decided by rules of a host's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from corral.domain.errors import BadPolicyError, WrongUseError

#: The role of whoever speaks as an agent, whoever it works for.
AGENT_ROLE = "agent"
_REMEDY = "docs/howto/policy.md tells what data.json may say; corral policy show shows the tables in force"


@dataclass(frozen=True, kw_only=True, slots=True)
class Role:
    """What people of one role may do."""

    name: str
    summary: str = ""
    #: From an act to the scopes that it is granted in.
    grants: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: The roles whose people it looks after (the scope `below`).
    over: tuple[str, ...] = ()
    #: The roles that it may give to members, and take from them; `any` for all there are.
    gives: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Tables:
    """The tables of a policy."""

    #: By name, in the order of the file: the mightiest first in those that ship.
    roles: Mapping[str, Role]
    #: From a verb of the API to the act that it is.
    verbs: Mapping[str, str]
    #: From a mode of attach to the act that it is.
    modes: Mapping[str, str]
    #: What acts and scopes are called in sentences.
    acts: Mapping[str, str]
    scopes: Mapping[str, str]
    #: What teams grant otherwise: from a team to its roles.
    teams: Mapping[str, Mapping[str, Role]] = field(default_factory=dict)

    def role(self, name: str) -> Role:
        """The role of that name. Raises WrongUseError for one that there is not."""
        if name not in self.roles:
            raise WrongUseError(f"there is no role {name!r}", f"there are: {', '.join(self.roles)}")
        return self.roles[name]


def tables_of(data: Mapping[str, object]) -> Tables:
    """The tables in the data of a policy. Raises BadPolicyError for what cannot be.

    Every act and scope that is granted must be one that has a name: what is misspelt would be granted to nobody.
    """
    tables = _table(data.get("tables"), "tables")
    acts, scopes = (_texts(tables.get(key), f"tables.{key}") for key in ("acts", "scopes"))
    verbs, modes = (_texts(tables.get(key), f"tables.{key}") for key in ("verbs", "modes"))
    for where, named in (("verbs", verbs), ("modes", modes)):
        for key, act in named.items():
            _known(act, acts, f"tables.{where}.{key}", "act")
    teams = {
        team: _roles(roles, f"tables.teams.{team}", acts, scopes)
        for team, roles in _table(tables.get("teams", {}), "tables.teams").items()
    }
    roles = _roles(tables.get("roles"), "tables.roles", acts, scopes)
    return Tables(roles=roles, verbs=verbs, modes=modes, acts=acts, scopes=scopes, teams=teams)


def merged(below: Mapping[str, object], above: Mapping[str, object]) -> dict[str, object]:
    """Data over data: tables are merged key by key, everything else is replaced, and null takes a key away."""
    result = dict(below)
    for key, value in above.items():
        before = result.get(key)
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            # Also where nothing is below it: what null takes away is not to stay as null.
            result[key] = merged(before if isinstance(before, dict) else {}, value)
        else:
            result[key] = value
    return result


def with_team(data: Mapping[str, object], team: str, said: Mapping[str, object]) -> dict[str, object]:
    """`data`, and in it what a team says in a data.json of its own. Raises BadPolicyError for what it cannot say.

    What a team does not name is as the host has it. So null, which takes away, is written down as a grant of nothing;
    and a role that there is not, or a key that nobody looks at, is refused: it would take away nothing without a word.
    """
    for key in said:
        _known(key, ("roles",), f"data.json of the team {team}", "key")
    tables, where = _table(data.get("tables"), "tables"), f"tables.teams.{team}"
    there, acts = _table(tables.get("roles"), "tables.roles"), _table(tables.get("acts"), "tables.acts")
    roles = {}
    for name, role in _table(said.get("roles", {}), where).items():
        _known(name, tuple(there), where, "role")
        told = {"grants": None} if role is None else _table(role, f"{where}.{name}")
        for key in told:
            # Whom a role looks after, and which ones it gives, is asked about people: they are of no one team.
            _known(key, ("summary", "grants"), f"{where}.{name}", "key")
        grants = told.get("grants", {})
        grants = dict.fromkeys(acts) if grants is None else _table(grants, f"{where}.{name}.grants")
        roles[name] = {**told, "grants": {act: [] if reach is None else reach for act, reach in grants.items()}}
    return merged(data, {"tables": {"teams": {team: roles}}})


def _roles(value: object, where: str, acts: Mapping[str, str], scopes: Mapping[str, str]) -> dict[str, Role]:
    found = {}
    for name, said in _table(value, where).items():
        place = f"{where}.{name}"
        role = _table(said, place)
        for key in role:
            _known(key, ("summary", "grants", "over", "gives"), place, "key")
        grants = {}
        for act, reach in _table(role.get("grants", {}), f"{place}.grants").items():
            _known(act, acts, f"{place}.grants", "act")
            grants[act] = _words(reach, f"{place}.grants.{act}")
            for scope in grants[act]:
                _known(scope, scopes, f"{place}.grants.{act}", "scope")
        summary = role.get("summary", "")
        if not isinstance(summary, str):
            raise BadPolicyError(f"{place}.summary is no text", _REMEDY)
        over, gives = (_words(role.get(key, []), f"{place}.{key}") for key in ("over", "gives"))
        found[name] = Role(name=name, summary=summary, grants=grants, over=over, gives=gives)
    return found


def _table(value: object, where: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise BadPolicyError(f"{where} is no table", _REMEDY)
    return value


def _texts(value: object, where: str) -> dict[str, str]:
    found = {}
    for key, text in _table(value, where).items():
        if not isinstance(text, str):
            raise BadPolicyError(f"{where}.{key} is no text", _REMEDY)
        found[key] = text
    return found


def _words(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise BadPolicyError(f"{where} is no list of words", _REMEDY)
    return tuple(value)


def _known(word: str, known: Mapping[str, str] | tuple[str, ...], where: str, what: str) -> None:
    if word not in known:
        raise BadPolicyError(f"{where} names the {what} {word!r}, which there is not", f"there are: {', '.join(known)}")
