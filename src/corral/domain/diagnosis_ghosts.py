"""Ghosts: tmux servers that live, and whose socket is gone or another's. Pure.

Ours are brought back: a server makes its socket anew when it is told to (SIGUSR1). Whoever has the path by then gets a
second name beside it first, so that both can be reached. Other people's are named, and left alone.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from corral.domain.diagnosis import INFO, PROBLEM, Finding, counted
from corral.domain.diagnosis_cures import BringBack
from corral.domain.diagnosis_facts import REPLACED, UNLINKED, Facts, Server
from corral.domain.diagnosis_teams import live_run

CHECK = "ghost_servers"


def ghost_servers(facts: Facts) -> list[Finding]:
    """A finding for each server that lives and cannot be reached at its path."""
    findings = []
    astray = [server for server in facts.servers if server.standing in (UNLINKED, REPLACED)]
    ours = [server for server in astray if _is_ours(facts, server)]
    for path in dict.fromkeys(server.path for server in ours):
        there = any(one.path == path and one not in astray and _is_ours(facts, one) for one in facts.servers)
        here = [server for server in ours if server.path == path]
        # Once a server of the team is at the path, another one of it is well off under another name.
        aside = [server for server in here if server.elsewhere and there]
        findings += [_set_aside(server) for server in aside]
        hidden = [server for server in here if server not in aside]
        if hidden:
            findings += _brought_back(facts, path, hidden)
    return findings + [_named(server) for server in astray if is_ghost(server) and server not in ours]


def is_ghost(server: Server) -> bool:
    """True if nobody can reach it by any name that is known."""
    return server.standing in (UNLINKED, REPLACED) and not server.elsewhere


def owner_of(candidates: Sequence[Server], live: Collection[str]) -> Server:
    """The one of several servers of a team that the path should lead to: where its agents are, else the oldest."""

    def rank(server: Server) -> tuple[int, int, int]:
        present = sum(terminal.run in live for terminal in server.terminals)
        return (-present, -len(server.terminals), server.start)

    return min(candidates, key=rank)


def _is_ours(facts: Facts, server: Server) -> bool:
    # One that an agent started for itself has the mark of a run: that is the agent's business.
    return server.mine and facts.is_ours(server.marks) and bool(server.marks.team) and not server.marks.run


def _brought_back(facts: Facts, path: str, ghosts: list[Server]) -> list[Finding]:
    candidates = [server for server in facts.servers if server.path == path and _is_ours(facts, server)]
    live = {
        terminal.run
        for server in candidates
        for terminal in server.terminals
        if live_run(facts.records, server.marks.team, terminal.agent, terminal.run)
    }
    owner = owner_of(candidates, live)
    able = [server for server in ghosts if not server.stopped and not server.blocked]
    # The owner comes last, and so has the path in the end.
    hidden = sorted(able, key=lambda server: (server is owner, server.start))
    cure = BringBack(path, tuple((server.pid, server.start) for server in hidden), owner.pid)
    return [
        Finding(
            check=CHECK,
            severity=PROBLEM,
            subject=server.marks.team,
            message=f"the tmux server of team {server.marks.team} (pid {server.pid}, {_panes(server)}) lives, "
            f"but {_how(server)}: nobody new can reach it",
            remedy=_remedy_of_ours(server),
            ours=True,
            cure=cure if server in able else None,
            details=_details(server),
        )
        for server in ghosts
    ]


def _set_aside(server: Server) -> Finding:
    return Finding(
        check=CHECK,
        severity=INFO,
        subject=server.marks.team,
        message=f"a second tmux server of team {server.marks.team} (pid {server.pid}, {_panes(server)}) is reachable "
        f"at {server.elsewhere}",
        remedy=f"tmux -S {server.elsewhere} attach shows what is in it, and kill-server ends it",
        ours=True,
        details=_details(server),
    )


def _remedy_of_ours(server: Server) -> str:
    if server.stopped:
        return f"it is stopped: kill -CONT {server.pid} lets it go on, then corral doctor --fix"
    if server.blocked:
        return f"look at what is at {server.path} and move it away, then corral doctor --fix"
    if server.replaced_by is not None:
        return "corral doctor --fix makes both reachable, and no terminal is lost"
    return "corral doctor --fix has it make its socket again, and no terminal is lost"


def _named(server: Server) -> Finding:
    whose = f"a tmux server of {server.user}"
    if server.marks.run:
        whose = f"a tmux server that agent {server.marks.team}/{server.marks.agent} started"
    elif server.marks.instance:
        whose = f"a tmux server of another Corral instance (team {server.marks.team})"
    remedy = f"kill -USR1 {server.pid} has it make its socket again"
    if server.replaced_by is not None:
        remedy = f"first mv {server.path} {server.path}.aside (the other one stays reachable there), then {remedy}"
    return Finding(
        check=CHECK,
        severity=INFO,
        subject=f"pid {server.pid}",
        message=f"{whose} (pid {server.pid}, {_panes(server)}) lives, but {_how(server)}",
        remedy=f"not ours, so it is left alone; {remedy}",
        details=_details(server),
    )


def _panes(server: Server) -> str:
    return counted(server.panes, "terminal")


def _how(server: Server) -> str:
    if server.standing == UNLINKED:
        return f"its socket {server.path} is gone"
    if server.blocked:
        return f"something that is no socket is at {server.path}"
    if server.replaced_by is None:
        return f"a dead socket is in the place of its own at {server.path}"
    return f"another process (pid {server.replaced_by}) has its socket {server.path}"


def _details(server: Server) -> dict[str, object]:
    return {
        "team": server.marks.team,
        "pid": server.pid,
        "path": server.path,
        "user": server.user,
        "ghost": server.standing,
        "replaced_by": server.replaced_by,
        "elsewhere": server.elsewhere,
        "panes": server.panes,
    }
