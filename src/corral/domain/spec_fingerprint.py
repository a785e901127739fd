"""Whether a running agent still is what the file declares, without keeping what the file says.

Environment values may be secrets, so the store keeps a keyed hash a key instead of the values. That is enough to
name what differs, which is all that anybody is shown.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping

from corral.domain.access import ANY_NETWORK, AUTO
from corral.domain.bindings import ANY_PORT
from corral.domain.kinds import AGENT
from corral.domain.limits import LIMIT_NAMES, limits_as_json
from corral.domain.restarts import DEFAULT_RESTART_LIMITS, RESTART_LIMIT_NAMES
from corral.domain.spec_model import SHARED, WORKTREE, AgentSpec
from corral.domain.terminals import TMUX
from corral.domain.upkeep import UPKEEP_NAMES, upkeep_as_values

_ENV = "env."
#: The order in which differences are named; `env.…` and whatever a later version adds follow, by name.
_ORDER = (
    *("command", "workspace", "restart", "prompt", "terminal", "stdin", "ports", "bind"),
    *("kind", "ready", "after", "labels", "run_as"),
    *UPKEEP_NAMES,
    *LIMIT_NAMES,
)
#: What can be changed on an agent that runs.
_ADJUSTABLE = frozenset([*LIMIT_NAMES, *UPKEEP_NAMES, "labels", "after"])


def fingerprint(spec: AgentSpec, salt: bytes, *, base: str = "") -> dict[str, str]:
    """Key → short keyed hash of its value; each variable of the environment is a key of its own (`env.NODE_ENV`).

    `salt` (1 to 64 bytes, secret, the same for a whole instance) keeps short values from being guessed. `base` is
    `TeamSpec.base`: with it, a team that moved to another repository differs in `workspace`.

    A key that a later version adds is left out while it has its default, so that an upgrade changes no agent. So it is
    with a limit that is not set.
    """
    if not salt:
        raise ValueError("a fingerprint without a salt could be guessed")
    values: dict[str, object] = {
        "command": [spec.shell, *spec.command],
        "workspace": [spec.workspace, base if spec.workspace in (WORKTREE, SHARED) else ""],
        "restart": spec.restart,
        "prompt": spec.prompt,
    }
    if spec.terminal != TMUX:
        values["terminal"] = spec.terminal
    if not spec.stdin:
        values["stdin"] = spec.stdin
    if spec.mcp:
        values["mcp"] = spec.mcp
    if spec.hooks:
        values["hooks"] = spec.hooks
    if spec.ports:
        values["ports"] = spec.ports
    if spec.labels:
        values["labels"] = spec.labels
    if spec.kind != AGENT:
        values["kind"] = spec.kind
    if spec.ready:
        values["ready"] = [spec.ready.port, spec.ready.log, spec.ready.command]
    if spec.after:
        values["after"] = spec.after
    if spec.run_as:
        values["run_as"] = spec.run_as
    if spec.bind != ANY_PORT:
        values["bind"] = spec.bind
    if spec.access.write is not None:
        values["access.write"] = spec.access.write
    if spec.access.read is not None:
        values["access.read"] = spec.access.read
    if spec.access.network != ANY_NETWORK:
        values["access.network"] = spec.access.network
    if spec.access.enforce != AUTO:
        values["access.enforce"] = spec.access.enforce
    values.update((_ENV + name, value) for name, value in spec.env)
    values.update(limits_as_json(spec.limits))
    values.update(upkeep_as_values(spec.upkeep))
    if spec.upkeep.restarts != DEFAULT_RESTART_LIMITS:
        values["restart"] = [spec.restart, *(getattr(spec.upkeep.restarts, name) for name in RESTART_LIMIT_NAMES)]
    return {key: _hash(key, value, salt) for key, value in values.items()}


def fingerprints(specs: Iterable[AgentSpec], salt: bytes, *, base: str = "") -> dict[str, dict[str, str]]:
    """By name, the fingerprint of each agent of a team. Those of one table (`count`) have the same."""
    tables: dict[str, dict[str, str]] = {}
    prints = {}
    for spec in specs:
        table = spec.declared_as
        if table not in tables:
            tables[table] = fingerprint(spec, salt, base=base)
        prints[spec.name] = tables[table]
    return prints


def differences(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """The keys whose values differ between two fingerprints made with the same salt; empty if the agents match."""
    keys = [key for key in old.keys() | new.keys() if old.get(key) != new.get(key)]
    return sorted(keys, key=lambda key: (_ORDER.index(key) if key in _ORDER else len(_ORDER), key))


def declared_variables(of: Mapping[str, str]) -> list[str]:
    """The names of the variables that an agent with this fingerprint has from the file."""
    return [key.removeprefix(_ENV) for key in of if key.startswith(_ENV)]


def split_differences(differs: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Those keys that can be changed on an agent that runs, and those that need a restart."""
    keys = tuple(differs)
    return tuple(key for key in keys if key in _ADJUSTABLE), tuple(key for key in keys if key not in _ADJUSTABLE)


def adjusted(old: Mapping[str, str], new: Mapping[str, str]) -> dict[str, str]:
    """The fingerprint of an agent that ran as `old`, once all of `new` that needs no restart is applied to it."""
    kept = {key: value for key, value in old.items() if key not in _ADJUSTABLE}
    return kept | {key: value for key, value in new.items() if key in _ADJUSTABLE}


def _hash(key: str, value: object, salt: bytes) -> str:
    # The key is hashed along, so that equal values of different keys do not show as equal.
    return hashlib.blake2b(json.dumps([key, value]).encode(), digest_size=8, key=salt).hexdigest()
