"""The life of an agent: what each observation makes of it, and what follows. Pure.

    pending ─► starting ─► running ─► stopping ─► stopped
                  │           │ ▲
                  ▼           ▼ │ (restart policy)
                failed ◄── exited ──► backoff ─► starting

Any live state becomes `unknown` while the keeper or tmux does not answer, and what it really is once they do.
"""

from __future__ import annotations

from typing import Any

from corral.domain import restarts, states
from corral.domain.changing import changed
from corral.domain.records import PROMPT_HELD, PROMPT_NONE, PROMPT_WAITING, Agent, Place
from corral.domain.spec_durations import shown_duration

#: What becomes of an agent that Corral itself ends: what its restart policy says, or nothing more.
BY_POLICY, AND_STAY = "by-policy", "and-stay"
AFTERWARDS = (BY_POLICY, AND_STAY)
#: What SIGKILL makes of an exit code: also that of a shell whose command got it.
_KILLED = 137
#: In a reason, between what happened and what else is to be said of it.
_BESIDES = "; "


def begin(agent: Agent, run: str, now: float, *, by_person: bool, **besides: Any) -> Agent:
    """A new run is about to be started. Written down before anything happens, so that it cannot be forgotten.

    `besides` are fields of which more is known than what follows from a start.
    """
    if agent.state in states.LIVE:
        raise ValueError(f"{agent.team}/{agent.name} is {agent.state}: a second run would make two of it")
    fields: dict[str, Any] = {
        "state": states.STARTING,
        "since": now,
        "reason": "",
        "run": run,
        "pid": None,
        "credential": "",
        "cgroup": "",
        "exit_code": None,
        "exit_signal": None,
        "restarts": 0 if by_person else agent.restarts + 1,
        "prompt_state": PROMPT_WAITING if agent.prompt else PROMPT_NONE,
        "paused": False,
        "survivors": 0,
        "place": None,
        "started_at": now,
        "crashes": 0 if by_person else agent.crashes,
        "last_words": "",
        "afterwards": "",
        "nudged_at": 0.0,
        "stuck_since": 0.0,
        "not_nudged": "",
        "late": "",
    }
    # One new record and not one after the other: a whole team is begun at once.
    return changed(agent, **(fields | besides))


def in_line(agent: Agent, place: Place, asked_by: str, reason: str, now: float) -> Agent:
    """It is to be started and cannot be yet. Since when it is `pending` does not change with the reason."""
    since = agent.since if agent.state == states.PENDING and agent.place is not None else now
    why = why_in_line(place, reason)
    return changed(agent, state=states.PENDING, since=since, reason=why, place=place, asked_by=asked_by, pid=None)


def why_in_line(place: Place, reason: str) -> str:
    """What one that stands there waits for, and how it came there if its last run ended by itself."""
    return f"{reason}{_BESIDES}its last run: {place.ended}" if place.ended else reason


def running(agent: Agent, pid: int | None, now: float, **besides: Any) -> Agent:
    """Its process was seen alive. `besides` are fields that were seen with it."""
    if agent.state == states.RUNNING and agent.pid == pid:
        return changed(agent, **besides) if besides else agent
    return changed(agent, state=states.RUNNING, since=now, reason="", pid=pid, **besides)


def not_started(agent: Agent, why: str, now: float) -> Agent:
    """The run could not be started."""
    return changed(agent, state=states.FAILED, since=now, reason=why, pid=None)


def interrupted(agent: Agent, why: str, now: float) -> Agent:
    """The run is proved not to be there, and was never seen: whoever started it was killed, or lost sight of it.

    That was no fault of the agent, so its policy has it started again, whatever it says of programs that end well.
    """
    ended = not_started(agent, why, now)
    return ended if agent.restart == "never" else _started_again(ended, why, now)


def exited(
    agent: Agent, code: int | None, signal: int | None, how: str, now: float, *, unwell: bool = False, words: str = ""
) -> Agent:
    """Its process ended; the restart policy says what is next (`backoff`: start it again after a pause).

    `words` are its last ones. One that was ended because it was `unwell` has failed, whatever its exit code.
    """
    ended = changed(agent, since=now, pid=None, exit_code=code, exit_signal=signal, reason=how, paused=False)
    ended = changed(ended, last_words=words, nudged_at=0.0, stuck_since=0.0, not_nudged="", late="", afterwards="")
    if agent.state == states.STOPPING and not unwell:
        return changed(ended, state=states.STOPPED)
    succeeded = code == 0 and signal is None and not unwell
    if agent.restart == "always" or (agent.restart == "on-failure" and not succeeded):
        return _started_again(ended, how, now)
    return changed(ended, state=states.STOPPED if succeeded else states.FAILED)


def _started_again(ended: Agent, how: str, now: float) -> Agent:
    """As the policy wants it: after a pause, unless that was tried too often."""
    limits = ended.upkeep.restarts
    crashes = restarts.counted(ended.crashes, now - ended.started_at, limits)
    ended = changed(ended, crashes=crashes)
    if restarts.is_crash_loop(crashes, limits):
        steady = shown_duration(limits.steady)
        loop = f"crash loop: it ended {crashes} times in a row, each time within {steady} of its start"
        return changed(ended, state=states.FAILED, reason=f"{how}{_BESIDES}{loop}")
    return changed(ended, state=states.BACKOFF, reason=how + _again_in(restart_pause(ended)))


def _again_in(pause: float) -> str:
    return f"{_BESIDES}it is started again in {max(1, round(pause))} s"


def cause(agent: Agent) -> str:
    """Why it is in its state, as short as it goes: the reason without what followed from it, and without a remedy."""
    return agent.reason.partition(_BESIDES)[0]


def how_it_came_to_back_off(agent: Agent) -> str:
    """How the last run of one that is in `backoff` ended, without when it is started again; empty of any other."""
    return agent.reason.removesuffix(_again_in(restart_pause(agent))) if agent.state == states.BACKOFF else ""


def restart_pause(agent: Agent) -> float:
    """Seconds between the end of an agent and its next start by policy; the same whenever it is asked for."""
    return restarts.pause(agent.crashes, agent.upkeep.restarts, agent.run)


def paused(agent: Agent) -> Agent:
    """It is about to stand still, or does. A prompt that it has not been told yet is held back."""
    prompt = PROMPT_HELD if agent.prompt_state == PROMPT_WAITING else agent.prompt_state
    return changed(agent, paused=True, prompt_state=prompt)


def resumed(agent: Agent) -> Agent:
    """It goes on, and a prompt that was held back waits again until the agent is ready."""
    prompt = PROMPT_WAITING if agent.prompt_state == PROMPT_HELD else agent.prompt_state
    return changed(agent, paused=False, prompt_state=prompt)


def unseen(agent: Agent, why: str, now: float) -> Agent:
    """Nobody can tell whether it lives. Nothing may be done to it on that."""
    if agent.state not in states.LIVE or agent.state == states.UNKNOWN:
        return agent
    return changed(agent, state=states.UNKNOWN, since=now, reason=why)


def stopping(agent: Agent, now: float) -> Agent:
    """Somebody asked for it to end."""
    return changed(agent, state=states.STOPPING, since=now, reason="", afterwards="")


def ending(agent: Agent, why: str, afterwards: str, now: float, words: str = "") -> Agent:
    """Corral itself ends it, and says why: one of `AFTERWARDS` is to become of it. `words` are its last ones."""
    return changed(stopping(agent, now), reason=why, afterwards=afterwards, last_words=words)


def still_stopping(agent: Agent, now: float) -> Agent:
    """Its end was begun and is to be finished: what is to become of it stays as it was."""
    return agent if agent.state == states.STOPPING else stopping(agent, now)


def stopped(agent: Agent, code: int | None, signal: int | None, now: float) -> Agent:
    """It was ended, and is proved gone."""
    if agent.afterwards == BY_POLICY:
        ended = exited(agent, code, signal, agent.reason, now, unwell=True, words=agent.last_words)
        return changed(ended, survivors=0)
    ended = changed(
        agent,
        state=states.STOPPED,
        since=now,
        reason="",
        pid=None,
        exit_code=code,
        exit_signal=signal,
        paused=False,
        survivors=0,
        place=None,
        crashes=0,
        last_words="",
        afterwards="",
        nudged_at=0.0,
        stuck_since=0.0,
        not_nudged="",
        late="",
    )
    return changed(ended, reason=agent.reason, afterwards=AND_STAY) if agent.afterwards == AND_STAY else ended


def stays_stopped(agent: Agent) -> bool:
    """Corral itself stopped it for good: its lifetime was over, or nobody looked after it. Only a person starts it."""
    return agent.state == states.STOPPED and agent.afterwards == AND_STAY


#: Why an agent has no terminal any more, and nobody can tell how it ended.
SERVER_GONE = "the team's tmux server is gone"


def lost_terminal(why: str, survivors: int) -> str:
    """Its terminal went, and not everything of it with it: that is no end."""
    tasks = "1 task of it runs" if survivors == 1 else f"{survivors} tasks of it run"
    return f"lost its terminal ({why}){_BESIDES}{tasks} on without one"


def surviving(agent: Agent, why: str, survivors: int) -> Agent:
    """One that failed with its terminal has so many tasks left now. Nobody ends them unasked."""
    if agent.state != states.FAILED or not agent.survivors:
        return agent
    if survivors:
        them = "it" if survivors == 1 else "them"
        remedy = f"corral stop ends {them}, corral up or restart starts the agent anew"
        reason = f"{lost_terminal(why, survivors)}: {remedy}"
    else:
        reason = f"{how_it_ended(None, '')} ({why})"
    counted = changed(agent, reason=reason, survivors=survivors)
    return agent if counted == agent else counted


def out_of_memory(kills: int, code: int | None) -> str:
    """What the kernel did to it for want of memory, in words; empty if it killed nothing. `code` is its exit code."""
    if not kills:
        return ""
    if code == _KILLED:
        return "out of memory: the kernel killed it"
    return f"out of memory: the kernel had killed {'a process' if kills == 1 else f'{kills} processes'} of it"


def how_it_ended(code: int | None, signal_name: str) -> str:
    """An exit in words."""
    if signal_name:
        return f"killed by {signal_name}"
    if code is None:
        return "ended, and nobody saw how"
    if code == 127:
        return "exit 127 (command not found)"
    if code == 126:
        return "exit 126 (cannot be executed)"
    return f"exit {code}"
