"""What the doctor says: findings, what was checked, and whether this host is healthy. Pure.

The rules that make findings out of facts are in `diagnosis_*.py` beside this file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from corral.domain.diagnosis_cures import Cure

#: As it should be, and worth a line all the same.
OK = "ok"
#: To know. Nothing has to be done about it.
INFO = "info"
#: Something works less well than it could, or is left over.
WARNING = "warning"
#: Something does not work, or is in danger.
PROBLEM = "problem"

SEVERITIES = (PROBLEM, WARNING, INFO, OK)

#: The check that is of a shared server as well, in other ways.
DAEMON = "daemon"
#: Every check, in the order in which a person reads them.
CHECKS = (
    DAEMON,
    "keeper",
    "ghost_servers",
    "lost_sessions",
    "stray_sessions",
    "orphans",
    "transitions",
    "scopes",
    "sockets",
    "worktrees",
    "containment",
    "tmux",
    "directories",
    "disk",
    "profiles",
    "linger",
    "user_bus",
    "cgroups",
    "controllers",
)
#: No check of the host: what the doctor did could not be written down.
JOURNAL = "journal"
#: Of a shared server alone: what nobody could look at, because it is others'.
OTHER_USERS = "other_users"
#: Of a shared server alone: the policy, whose teams are up, what is up beside it in instances of members' own, and
#: what `corral host setup` would put right.
POLICY, MEMBERS, OWN_INSTANCES, HOST_SETUP = "policy", "members", "own_instances", "host_setup"
OF_SHARED = (HOST_SETUP, POLICY, MEMBERS, OWN_INSTANCES)
_ORDER = (*CHECKS, *OF_SHARED, OTHER_USERS, JOURNAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was found, in one sentence, with what helps."""

    check: str
    severity: str
    #: What it is about: a team, an agent, a path, a unit.
    subject: str
    message: str
    remedy: str = ""
    #: It belongs to this instance.
    ours: bool = False
    #: What `--fix` does about it; None if it does nothing.
    cure: Cure | None = None
    #: None: nothing was tried. False: it was tried, and the message says what came of it.
    fixed: bool | None = None
    #: For programs: pid, path, unit, and so on.
    details: Mapping[str, object] = field(default_factory=dict)

    @property
    def is_well(self) -> bool:
        """True if nothing of ours is amiss here, or it was healed. What is other people's is only named."""
        return self.fixed is True or not (self.severity == PROBLEM or (self.severity == WARNING and self.ours))

    def as_json(self) -> dict[str, object]:
        """As `corral doctor --json` prints it: a contract."""
        return {
            "check": self.check,
            "severity": self.severity,
            "subject": self.subject,
            "message": self.message,
            "remedy": self.remedy,
            "ours": self.ours,
            "fixable": self.cure is not None,
            "fixed": self.fixed,
            **self.details,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything the doctor has to say."""

    findings: Sequence[Finding]
    #: Check → why it could not be made, or not all of it.
    not_checked: Mapping[str, str] = field(default_factory=dict)
    #: Checks that were made besides.
    also: Sequence[str] = ()

    @property
    def healthy(self) -> bool:
        return all(finding.is_well for finding in self.findings)

    def as_json(self) -> dict[str, object]:
        """As `corral doctor --json` prints it: a contract."""
        found = [finding.check for finding in self.findings]
        return {
            "healthy": self.healthy,
            "findings": [finding.as_json() for finding in self.findings],
            "checked": [
                {
                    "check": check,
                    "done": check not in self.not_checked,
                    "found": found.count(check),
                    "why": self.not_checked.get(check, ""),
                }
                for check in (*CHECKS, *self.also)
            ],
        }


def in_order(findings: Sequence[Finding]) -> list[Finding]:
    """The worst first, and those of one check together."""
    return sorted(findings, key=lambda one: (SEVERITIES.index(one.severity), _ORDER.index(one.check), one.subject))


def counted(number: int, one: str, many: str = "") -> str:
    """`1 process`, `2 processes`."""
    return f"{number} {one if number == 1 else many or one + 's'}"
