"""A shared server is looked at in parts: what is the host's, and what each user has of it. Pure.

A part is looked at with the rights of whoever asks: its user sees all of it, root nearly all, others nothing. What
could not be looked at is said, and is not taken for well.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from corral.domain.diagnosis import (
    CHECKS,
    JOURNAL,
    OF_SHARED,
    OTHER_USERS,
    OWN_INSTANCES,
    POLICY,
    Finding,
    Report,
    in_order,
)
from corral.domain.diagnosis_shared import BY_SETUP

#: What is the host's, and nobody's part of it.
OF_THE_HOST = frozenset(("daemon", "tmux", "disk", "cgroups"))
#: What root can tell of the part of another user. The rest is about what that user finds where it logs in.
OF_ANOTHER = frozenset(
    "keeper ghost_servers lost_sessions stray_sessions orphans transitions scopes sockets worktrees".split()
)
#: Root has no part of its own, and what these are about is found by each user alone.
_OF_EACH = tuple(check for check in CHECKS if check not in OF_THE_HOST | OF_ANOTHER | BY_SETUP)
_EACH = "each user's own doctor tells: corral doctor as that user"
#: What is looked at of the server as such for a member: whose teams are up beside theirs is not theirs to know.
OF_CALLER = (POLICY, OWN_INSTANCES)
_OF = "of "
_DOWN = "corral down "
#: Said to a member, who sees no part but its own.
UNSEEN = "what other users run on this host only they themselves, and root, can look at: sudo corral doctor"


def part(report: Report, checks: Collection[str]) -> Report:
    """Only these checks of a report."""
    return Report(
        findings=[one for one in report.findings if one.check in checks or one.check == JOURNAL],
        not_checked={check: why for check, why in report.not_checked.items() if check in checks},
    )


def _told_once(whys: Sequence[str]) -> list[str]:
    """Each reason once, with all the users of whom it is one."""
    users: dict[str, list[str]] = {}
    for why in whys:
        named, found, rest = why.removeprefix(_OF).partition(": ")
        of_somebody = why.startswith(_OF) and found
        names = users.setdefault(rest if of_somebody else why, [])
        if of_somebody and named not in names:
            names.append(named)
    return [f"{_OF}{', '.join(names)}: {why}" if names else why for why, names in users.items()]


def of_user(report: Report, user: str, person: str) -> Report:
    """The part of another user: each finding names whose it is, and is that user's to heal.

    Teams are a person's: of what a user of agents has, it is the `person` it belongs to who takes them down.
    """
    return Report(
        findings=[_of_user(one, user, person) for one in report.findings],
        not_checked={check: f"{_OF}{user}: {why}" for check, why in report.not_checked.items()},
    )


def _of_user(one: Finding, user: str, person: str) -> Finding:
    who = person if one.remedy.startswith(_DOWN) else user
    remedy = f"by {who}: {one.remedy}" if one.remedy else ""
    return replace(
        one, message=f"of {user}: {one.message}", remedy=remedy, cure=None, details={**one.details, "user": user}
    )


def of_nobody() -> Report:
    """For root: what nobody has looked at."""
    return Report(findings=[], not_checked=dict.fromkeys(_OF_EACH, _EACH))


def of_server(findings: Sequence[Finding], not_checked: Mapping[str, str]) -> Report:
    """What is the server's as such."""
    return Report(findings=findings, not_checked=not_checked)


def together(reports: Sequence[Report], unseen: Sequence[str], also: Sequence[str] = OF_SHARED) -> Report:
    """One report of all parts. `unseen` says which parts nobody looked at, and why; `also` are checks of the server."""
    not_checked: dict[str, list[str]] = {OTHER_USERS: list(unseen)} if unseen else {}
    for report in reports:
        for check, why in report.not_checked.items():
            not_checked.setdefault(check, []).append(why)
    return Report(
        findings=in_order([one for report in reports for one in report.findings]),
        not_checked={check: "; ".join(_told_once(whys)) for check, whys in not_checked.items()},
        also=(*also, OTHER_USERS),
    )
