"""The `[supervision]` table of a `corral.toml`: who may start, and what happens to a team that nobody looks after."""

from collections.abc import Mapping

from corral.domain.admission_rules import ADMISSION_RULE_NAMES, DEFAULT_ADMISSION_RULES, AdmissionRules
from corral.domain.spec_table import Table
from corral.domain.spec_unattended import ALIASES as UNATTENDED_ALIASES
from corral.domain.spec_unattended import EXAMPLE as UNATTENDED_EXAMPLE
from corral.domain.spec_unattended import read_unattended
from corral.domain.supervision import DEFAULT_SUPERVISION, Supervision

KEYS = (*ADMISSION_RULE_NAMES, "unattended")
_ALIASES = {
    "agents": "max_agents", "limit": "max_agents", "most_agents": "max_agents",
    "concurrency": "start_at_once", "parallel": "start_at_once", "start_concurrency": "start_at_once",
    "pressure": "memory_pressure", "psi": "memory_pressure",
    "headroom": "memory_headroom",
    **UNATTENDED_ALIASES,
}  # fmt: skip
#: The most of each; 0 is no bound.
_MOST = {"max_agents": 1000, "start_at_once": 1000, "memory_pressure": 100, "memory_headroom": 100}


def read_supervision(root: Table, elsewhere: Mapping[str, str]) -> Supervision:
    """What the table says, and the defaults for the rest. `elsewhere` says where keys belong that it does not take."""
    table = root.table("supervision", f"[supervision] with {UNATTENDED_EXAMPLE}")
    if table is None:
        return DEFAULT_SUPERVISION
    table.only(KEYS, _ALIASES, elsewhere)
    rules = AdmissionRules(**{name: _number(table, name) for name in ADMISSION_RULE_NAMES})
    return Supervision(unattended=read_unattended(table), admission=rules)


def _number(table: Table, name: str) -> int:
    default: int = getattr(DEFAULT_ADMISSION_RULES, name)
    example = f"{name} = {default or 4}"
    value = table.take(name, int, example)
    if value is None:
        return default
    if not 0 <= value <= _MOST[name]:
        table.wrong(name, "this is out of range", f"a number from 0, no bound, to {_MOST[name]}, such as {example}")
        return default
    return value
