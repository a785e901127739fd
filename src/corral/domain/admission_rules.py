"""How many agents of a team may run and start at once, and how short of memory its host may be. Pure."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, kw_only=True, slots=True)
class AdmissionRules:
    """Those keys of `[supervision]` that say who may start, with every default filled in. 0 is no bound."""

    #: Agents that may run at once. Services are no agents.
    max_agents: int = 0
    #: Agents and services that may start up at once.
    start_at_once: int = 0
    #: Percent of the last ten seconds in which somebody on the host waited for memory (PSI). From so much on nobody
    #: is started.
    memory_pressure: int = 20
    #: Percent of the team's own memory limit that must be free for one more.
    memory_headroom: int = 10


DEFAULT_ADMISSION_RULES = AdmissionRules()
#: The keys of the table, in the order in which they are shown.
ADMISSION_RULE_NAMES = tuple(field.name for field in fields(AdmissionRules))


def admission_rules_as_json(rules: AdmissionRules) -> dict[str, object]:
    """All of them, for the journal."""
    return {name: getattr(rules, name) for name in ADMISSION_RULE_NAMES}


def admission_rule_differences(old: AdmissionRules, new: AdmissionRules) -> tuple[str, ...]:
    """The keys of the file that differ: `supervision.max_agents`."""
    return tuple(f"supervision.{name}" for name in ADMISSION_RULE_NAMES if getattr(old, name) != getattr(new, name))
