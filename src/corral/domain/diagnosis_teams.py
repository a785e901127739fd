"""Agents, their terminals and their processes: what is there and should not be, and the other way round. Pure."""

from __future__ import annotations

from corral.domain import states
from corral.domain.copies import COPY
from corral.domain.diagnosis import INFO, WARNING, Finding, counted
from corral.domain.diagnosis_cures import EndProcesses, RemoveSocket, RemoveWorktree
from corral.domain.diagnosis_facts import Facts, LeftWorktree, Marked, Marks, Records, Server, SocketFile, Terminal
from corral.domain.terminals import TMUX

#: An agent that began to run later than this before the look may not have been seen.
_JUST_NOW_SECONDS = 2.0
#: With a daemon at work, a start or a stop takes longer than this only if something is wrong.
_LONG_SECONDS = 60.0
#: So many processes of a finding are named.
_NAMED = 20


def live_run(records: Records, team: str, agent: str, run: str) -> bool:
    """True if this run of an agent is the present one, or may be."""
    record = records.by_name.get((team, agent))
    return record is not None and record.state in states.LIVE and record.run in ("", run)


def may_be_orphan(records: Records, home: str, marks: Marks) -> bool:
    """False for a process that is nobody's orphan: it is of no run, of another instance, or of a run that lives."""
    if not marks.run or marks.home != home:
        return False
    ours = bool(records.instance) and marks.instance == records.instance
    return not (ours and live_run(records, marks.team, marks.agent, marks.run))


def lost_sessions(facts: Facts) -> list[Finding]:
    """Agents that count as running, and have no terminal on any tmux server; or if they need none, no process."""
    there = {
        (server.marks.team, terminal.agent, terminal.run)
        for server in facts.servers
        if facts.is_ours(server.marks)
        for terminal in server.terminals
    }
    there |= facts.plain_runs
    there |= {(team, agent, "") for team, agent, _ in there}
    remedy = "corral ps tells what became of it" if facts.records.source == "daemon" else "corral daemon start"
    return [
        Finding(
            check="lost_sessions",
            severity=WARNING,
            subject=f"{record.team}/{record.agent}",
            message=f"{record.team}/{record.agent} counts as running, but its "
            f"{'terminal' if record.terminal == TMUX else 'process'} is gone",
            remedy=f"{remedy}; corral restart starts it again",
            ours=True,
            details={"team": record.team, "agent": record.agent, "run": record.run},
        )
        for record in facts.records.agents
        if record.state == states.RUNNING
        and (record.team, record.agent, record.run) not in there
        and facts.now - record.since > _JUST_NOW_SECONDS
    ]


def stray_sessions(facts: Facts) -> list[Finding]:
    """Terminals on our tmux servers that belong to no agent, and servers of teams that are not up."""
    if not facts.records.known:
        return []
    findings = []
    for server in facts.servers:
        team = server.marks.team
        if not facts.is_ours(server.marks) or server.marks.run or not team:
            continue
        strays = [one for one in server.terminals if not live_run(facts.records, team, one.agent, one.run)]
        findings += [_stray(facts, server, terminal) for terminal in strays]
        findings += [_guest(server, pid, command) for pid, command in server.guests]
        if team not in facts.records.teams and not server.terminals:
            findings.append(
                Finding(
                    check="stray_sessions",
                    severity=WARNING,
                    subject=team,
                    message=f"a tmux server of team {team} runs (pid {server.pid}), but no such team is up",
                    remedy=f"tmux -S {server.path} kill-server ends it",
                    ours=True,
                    details={"team": team, "pid": server.pid, "path": server.path},
                )
            )
    return findings


def orphans(facts: Facts) -> list[Finding]:
    """Processes with our marker whose agent is gone."""
    if not facts.records.known:
        return []
    with_terminal = {
        (server.marks.team, terminal.agent, terminal.run)
        for server in facts.servers
        if facts.is_ours(server.marks)
        for terminal in server.terminals
    }
    groups: dict[tuple[str, str, str], list[Marked]] = {}
    strangers: dict[str, list[Marked]] = {}
    for process in facts.marked:
        marks = process.marks
        if not may_be_orphan(facts.records, facts.home, marks):
            continue
        if not facts.is_ours(marks):
            strangers.setdefault(marks.instance, []).append(process)
        else:
            groups.setdefault((marks.team, marks.agent, marks.run), []).append(process)
    findings = [
        _orphan(*key[:2], processes)
        for key, processes in groups.items()
        if key not in with_terminal  # told with its terminal
    ]
    return findings + [_of_a_lost_store(instance, processes) for instance, processes in strangers.items()]


def transitions(facts: Facts) -> list[Finding]:
    """Agents that somebody began to start or to stop, and did not finish."""
    found = []
    for record in facts.records.agents:
        doing = {states.PENDING: "be started", states.STARTING: "start", states.STOPPING: "stop"}.get(record.state)
        seconds = facts.now - record.since
        if doing is None or (facts.records.source == "daemon" and seconds < _LONG_SECONDS):
            continue
        if facts.records.source == "daemon":
            why, remedy = f"for {_span(seconds)}", "daemon.log and keeper.log in CORRAL_HOME say why it takes so long"
        else:
            why, remedy = "and no daemon runs that would finish it", "corral daemon start"
        found.append(
            Finding(
                check="transitions",
                severity=WARNING,
                subject=f"{record.team}/{record.agent}",
                message=f"{record.team}/{record.agent} is about to {doing}, {why}",
                remedy=remedy,
                ours=True,
                details={"team": record.team, "agent": record.agent, "state": record.state},
            )
        )
    return found


def sockets(facts: Facts) -> list[Finding]:
    """Sockets of ours that nobody listens at, and a daemon that cannot be reached."""
    found = [_stale(socket, unattended=bool(facts.unattended)) for socket in facts.sockets if socket.stale]
    pid = facts.records.hidden_daemon
    if pid is not None:
        found.append(
            Finding(
                check="sockets",
                severity=WARNING,
                subject="daemon",
                message=f"the daemon (pid {pid}) lives, but its socket is gone or not there yet",
                remedy="it ends by itself within ten seconds, then: corral daemon start",
                ours=True,
                details={"pid": pid},
            )
        )
    return found


def worktrees(facts: Facts) -> list[Finding]:
    """Worktrees that belong to no agent."""
    if not facts.records.known:
        return []
    used = {record.workspace for record in facts.records.agents}
    # A daemon could be about to use it again: it has to remove it itself.
    by_daemon = facts.records.source == "daemon"
    found = []
    for left in facts.worktrees:
        if left.link:
            found.append(_link(left))
            continue
        if left.path in used:
            continue
        if left.agent == COPY:
            found += _copy(facts, left)
            continue
        if not by_daemon:
            remedy = "corral doctor --fix removes it, unless work is in it"
        elif left.team in facts.records.teams:
            remedy = f"look at it, then git worktree remove {left.path}"
        else:
            remedy = f"corral down -t {left.team} removes it, unless work is in it"
        found.append(
            Finding(
                check="worktrees",
                severity=INFO,
                subject=f"{left.team}/{left.agent}",
                message=f"the worktree {left.path} is left of {left.team}/{left.agent}, which is not up",
                remedy=remedy,
                ours=True,
                cure=None if by_daemon else RemoveWorktree(left.team, left.agent, left.path),
                details={"team": left.team, "agent": left.agent, "path": left.path},
            )
        )
    return found


def _copy(facts: Facts, left: LeftWorktree) -> list[Finding]:
    """A copy of a repository is there for the worktrees beside it, and goes with the last one."""
    worktrees_of_it = any(one.team == left.team and one.agent != COPY for one in facts.worktrees)
    if worktrees_of_it or left.team in facts.records.teams:
        return []
    return [
        Finding(
            check="worktrees",
            severity=INFO,
            subject=left.team,
            message=f"the copy of a repository {left.path} is left of {left.team}, which is not up",
            remedy=f"corral down -t {left.team} removes it, unless work is in it",
            ours=True,
            details={"team": left.team, "agent": left.agent, "path": left.path},
        )
    ]


def _link(left: LeftWorktree) -> Finding:
    """No cure: what it leads to may be a person's own worktree, and git would follow it."""
    return Finding(
        check="worktrees",
        severity=INFO,
        subject="/".join(filter(None, (left.team, left.agent))),
        message=f"{left.path} is a symbolic link in the place of a worktree; Corral neither follows nor removes it",
        remedy=f"look at where it leads, then rm {left.path}",
        ours=True,
        details={"team": left.team, "agent": left.agent, "path": left.path},
    )


def _guest(server: Server, pid: int, command: str) -> Finding:
    team = server.marks.team
    return Finding(
        check="stray_sessions",
        severity=INFO,
        subject=team,
        message=f"a terminal on the tmux server of team {team} belongs to no agent: {command} (pid {pid})",
        remedy="somebody opened it there; it goes with the team, or when it is closed",
        ours=False,
        details={"team": team, "pid": pid, "path": server.path, "command": command},
    )


def _stray(facts: Facts, server: Server, terminal: Terminal) -> Finding:
    team = server.marks.team
    name = f"{team}/{terminal.agent}"
    inside = [
        one
        for one in facts.marked
        if facts.is_ours(one.marks)
        and one.marks.home == facts.home
        and (one.marks.team, one.marks.agent, one.marks.run) == (team, terminal.agent, terminal.run)
    ]
    record = facts.records.by_name.get((team, terminal.agent))
    why = "no such agent is up" if record is None else f"that agent is {record.state} or has another terminal"
    return Finding(
        check="stray_sessions",
        severity=WARNING,
        subject=name,
        message=f"a terminal of {name} is there (pid {terminal.pid}), but {why}",
        remedy="corral doctor --fix ends what runs in it",
        ours=True,
        cure=EndProcesses(((terminal.pid, terminal.start), *(one.key for one in inside))),
        details={"team": team, "agent": terminal.agent, "run": terminal.run, "pid": terminal.pid} | _processes(inside),
    )


def _orphan(team: str, agent: str, processes: list[Marked]) -> Finding:
    return Finding(
        check="orphans",
        severity=WARNING,
        subject=f"{team}/{agent}",
        message=f"{counted(len(processes), 'process', 'processes')} of {team}/{agent} "
        f"({_commands(processes)}) outlived the agent",
        remedy="corral doctor --fix ends them",
        ours=True,
        cure=EndProcesses(tuple(one.key for one in processes)),
        details={"team": team, "agent": agent} | _processes(processes),
    )


def _of_a_lost_store(instance: str, processes: list[Marked]) -> Finding:
    pids = " ".join(str(one.pid) for one in processes[:_NAMED])
    return Finding(
        check="orphans",
        severity=WARNING,
        subject=f"instance {instance}",
        message=f"{counted(len(processes), 'process', 'processes')} ({_commands(processes)}) were started from this "
        "CORRAL_HOME by a store that is not there any more",
        remedy=f"look at them, then kill {pids}",
        ours=True,
        details=_processes(processes),
    )


def _stale(socket: SocketFile, *, unattended: bool) -> Finding:
    missed = "corral daemon start replaces it" if unattended and socket.of == "daemon" else ""
    of_team = socket.of in ("tmux", "host")
    who = {"tmux": "its tmux server", "host": "the host of its processes"}.get(socket.of, f"the {socket.of}")
    return Finding(
        check="sockets",
        severity=INFO,
        subject=socket.path.rpartition("/")[2],
        message=f"nobody listens at {socket.path}: {who} is gone",
        remedy="nothing to do: it is replaced when the team needs it"
        if of_team
        else f"{missed or f'nothing to do: the next {socket.of} replaces it'}, and corral doctor --fix removes it",
        ours=True,
        # A tmux socket is tmux's own, and the next host may be about to take that of the last: nobody removes them.
        cure=None if of_team else RemoveSocket(socket.path, socket.locks),
        details={"path": socket.path},
    )


def _commands(processes: list[Marked]) -> str:
    first = processes[0]
    more = f" and {len(processes) - 1} more" if len(processes) > 1 else ""
    return f"pid {first.pid}: {first.command}{more}"


def _processes(processes: list[Marked]) -> dict[str, object]:
    return {"processes": [{"pid": one.pid, "command": one.command} for one in processes]}


def _span(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.0f} hours"
