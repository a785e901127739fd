"""Scopes of the user's service manager: active ones that nothing runs in, and what runs in the others. Pure."""

from __future__ import annotations

import re

from corral.domain.diagnosis import INFO, OK, WARNING, Finding, counted
from corral.domain.diagnosis_cures import StopScope
from corral.domain.diagnosis_facts import Facts, Scope
from corral.domain.diagnosis_ghosts import is_ghost
from corral.domain.units import is_of_instance

_TMUX = re.compile(r"tmux-spawn-.*\.scope")
_OURS = re.compile(r"corral[-.].*\.scope")
#: What Corral writes into the description of an agent's scope: its name alone proves nothing.
_AGENT = re.compile(r"Corral agent (\S+)/(\S+) \(instance ([0-9a-f]+)\)")
#: What tmux writes into the description of a scope that it makes for a pane.
_LAUNCHED_BY = re.compile(r"launched by process (\d+)")


def is_watched(name: str) -> bool:
    """True for the scopes that the doctor looks at: those that tmux makes for panes, and Corral's."""
    return bool(_TMUX.fullmatch(name) or _OURS.fullmatch(name))


def scopes(facts: Facts) -> list[Finding]:
    """A finding for each scope that is watched and active."""
    return [
        _empty(facts, scope) if scope.populated is False else _full(facts, scope)
        for scope in facts.scopes
        if scope.active and is_watched(scope.name)
    ]


def _empty(facts: Facts, scope: Scope) -> Finding:
    return Finding(
        check="scopes",
        severity=WARNING,
        subject=scope.name,
        message=f"{scope.name} is active, and nothing runs in it",
        remedy=f"corral doctor --fix stops it; so does systemctl --user stop {scope.name}",
        ours=_is_ours(facts, scope),
        cure=StopScope(scope.name, scope.control_group),
        details=_details(facts, scope),
    )


def _full(facts: Facts, scope: Scope) -> Finding:
    launcher = _launcher(scope)
    servers = {server.pid: server for server in facts.servers}
    severity, why, remedy = OK, "", ""
    if _TMUX.fullmatch(scope.name) and launcher is not None:
        if launcher not in servers:
            severity, why = INFO, f", and the tmux server that made it (pid {launcher}) is gone"
        elif is_ghost(servers[launcher]):
            severity, why = INFO, f", and the tmux server that made it (pid {launcher}) cannot be reached"
        if why:
            remedy = f"systemctl --user stop {scope.name} ends what runs in it"
    inside = ", ".join(f"{pid} {command}" for pid, command in scope.processes[:3])
    return Finding(
        check="scopes",
        severity=severity,
        subject=scope.name,
        message=f"{scope.name} has {counted(len(scope.processes), 'process', 'processes')} ({inside}){why}"
        if scope.populated
        else f"{scope.name} is active, and what runs in it cannot be told",
        remedy=remedy,
        ours=_is_ours(facts, scope),
        details=_details(facts, scope),
    )


def _is_ours(facts: Facts, scope: Scope) -> bool:
    instance = facts.records.instance
    if not instance:
        return False
    agent = _AGENT.fullmatch(scope.description)
    if agent is not None:
        return agent[3] == instance
    if is_of_instance(scope.name, instance):
        return True
    launcher = _launcher(scope)
    return any(server.pid == launcher and facts.is_ours(server.marks) for server in facts.servers)


def _details(facts: Facts, scope: Scope) -> dict[str, object]:
    agent = _AGENT.fullmatch(scope.description) if _is_ours(facts, scope) else None
    return {
        "unit": scope.name,
        "control_group": scope.control_group,
        "team": agent[1] if agent else "",
        "agent": agent[2] if agent else "",
        "processes": [{"pid": pid, "command": command} for pid, command in scope.processes],
    }


def _launcher(scope: Scope) -> int | None:
    match = _LAUNCHED_BY.search(scope.description)
    return int(match[1]) if match else None
