"""The doctor: look, judge, and with hands heal what may be healed, and write that down."""

from __future__ import annotations

from dataclasses import replace

from corral.domain import diagnosis_host as host
from corral.domain import diagnosis_teams as teams
from corral.domain.diagnosis import JOURNAL, WARNING, Finding, Report, in_order
from corral.domain.diagnosis_facts import Facts
from corral.domain.diagnosis_ghosts import ghost_servers
from corral.domain.diagnosis_life import absence, life
from corral.domain.diagnosis_scopes import scopes
from corral.domain.errors import CorralError
from corral.ports.doctor import Chronicle, Hands, HostView

#: Rest on what is known of teams and agents.
_BY_RECORDS = ("lost_sessions", "stray_sessions", "orphans", "transitions", "worktrees", "containment")


def examine(view: HostView, hands: Hands | None = None, chronicle: Chronicle | None = None) -> Report:
    """What is found on this host. With hands, what can be healed is, and is told to the chronicle."""
    facts = view.facts()
    findings = diagnose(facts)
    if hands is not None:
        findings = _heal(findings, hands)
    tried = [finding for finding in findings if finding.fixed is not None]
    if tried and chronicle is not None:
        findings += _written_down(tried, chronicle)
    not_checked = dict(facts.not_checked)
    if not facts.records.known:
        not_checked |= dict.fromkeys(_BY_RECORDS, facts.records.why)
    return Report(findings=in_order(findings), not_checked=not_checked)


def diagnose(facts: Facts) -> list[Finding]:
    """Every check. Pure."""
    return [
        *life(facts.lives),
        *ghost_servers(facts),
        *teams.lost_sessions(facts),
        *teams.stray_sessions(facts),
        *teams.orphans(facts),
        *teams.transitions(facts),
        *scopes(facts),
        *teams.sockets(facts),
        *teams.worktrees(facts),
        *host.containment(facts),
        *host.tmux(facts),
        *host.directories(facts),
        *host.disk(facts),
        *host.profiles(facts),
        *host.linger(facts),
        *host.user_bus(facts.host),
        *host.cgroups(facts.host),
        *host.controllers(facts.host),
        *absence(facts),  # what it is healed by comes last: all else is healed while no daemon interferes
    ]


def _heal(findings: list[Finding], hands: Hands) -> list[Finding]:
    # Several findings may share one cure: two servers that were bound to one path.
    cures = list(dict.fromkeys(finding.cure for finding in findings if finding.cure is not None))
    outcomes = dict(zip(cures, hands.heal(cures), strict=True))
    healed = []
    for finding in findings:
        if finding.cure is None:
            healed.append(finding)
            continue
        outcome = outcomes[finding.cure]
        message = f"{finding.message}; {outcome.said}"
        remedy = "" if outcome.fixed else finding.remedy
        healed.append(replace(finding, message=message, remedy=remedy, fixed=outcome.fixed))
    return healed


def _written_down(tried: list[Finding], chronicle: Chronicle) -> list[Finding]:
    """A host may be so ill that no daemon starts: healing comes first, and that nobody wrote it down is told."""
    try:
        chronicle(tried)
    except CorralError as error:
        return [
            Finding(
                check=JOURNAL,
                severity=WARNING,
                subject="journal",
                message=f"what was done here could not be written to the journal: {error.message}",
                remedy=error.remedy or "keep what this command said",
                ours=True,
            )
        ]
    return []
