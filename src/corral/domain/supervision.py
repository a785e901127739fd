"""The `[supervision]` table of a team. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from corral.domain.admission_rules import (
    DEFAULT_ADMISSION_RULES,
    AdmissionRules,
    admission_rule_differences,
    admission_rules_as_json,
)
from corral.domain.attendance import Unattended


@dataclass(frozen=True, kw_only=True, slots=True)
class Supervision:
    """How a team is watched over, with every default filled in."""

    #: What happens when nobody looks after it; None: nothing does.
    unattended: Unattended | None = None
    #: Who of it may start, and when.
    admission: AdmissionRules = DEFAULT_ADMISSION_RULES


DEFAULT_SUPERVISION = Supervision()


def supervision_as_json(supervision: Supervision) -> dict[str, object]:
    """All of it, for the journal."""
    rule = supervision.unattended
    unattended = None if rule is None else {"after": rule.after, "then": rule.then, "notice": rule.notice}
    return {"unattended": unattended, **admission_rules_as_json(supervision.admission)}


def supervision_differences(old: Supervision, new: Supervision) -> tuple[str, ...]:
    """The keys of the file that differ: `supervision.unattended`."""
    unattended = ("supervision.unattended",) if old.unattended != new.unattended else ()
    return (*unattended, *admission_rule_differences(old.admission, new.admission))
