"""The `[merge]` table of a team: what its merge queue moves, and what has to hold before it does. Pure."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace


@dataclass(frozen=True, kw_only=True, slots=True)
class MergeRules:
    """The table, with every default filled in."""

    #: The branch that the queue moves. Empty: the one that the repository's HEAD named at `up`.
    target: str = ""
    #: Commands for a shell, run one after the other on the merged tree. All must end with 0.
    gates: tuple[str, ...] = ()
    #: Seconds that each of them may take.
    timeout: float = 1800.0
    #: So many branches are tried together at most.
    batch: int = 8


DEFAULT_MERGE_RULES = MergeRules()
#: The keys of the table, in the order in which they are shown.
MERGE_RULE_NAMES = tuple(field.name for field in fields(MergeRules))


def merge_rules_as_json(rules: MergeRules) -> dict[str, object]:
    """All of them, for the journal."""
    return {"target": rules.target, "gates": list(rules.gates), "timeout": rules.timeout, "batch": rules.batch}


def merge_rule_differences(old: MergeRules, new: MergeRules) -> tuple[str, ...]:
    """The keys of the file that differ: `merge.gates`."""
    return tuple(f"merge.{name}" for name in MERGE_RULE_NAMES if getattr(old, name) != getattr(new, name))


def settled(declared: MergeRules, known: MergeRules, head: str) -> MergeRules:
    """What holds from this `up` on: a target that is not declared stays what it was, or is what HEAD names now."""
    return replace(declared, target=declared.target or known.target or head)
