"""`corral attach`: join an agent's terminal."""

import os
import sys
import time

from corral.cli.command import AGENTS, TEAM, Argument, Command, Invocation, Option
from corral.cli.foreground import run_in_front
from corral.cli.output import plain, remark, write_json
from corral.cli.progress import strings
from corral.cli.targets import here, one_agent
from corral.client.answers import Record, ask, ask_for_list
from corral.client.wire import target
from corral.domain import states
from corral.domain.errors import CorralError, NotFoundError, UnavailableError, WrongUseError
from corral.domain.session_modes import DRIVE, MODES, OBSERVE
from corral.domain.terminals import NO_TERMINAL

#: Its terminal goes a moment before it is known what became of the agent: so often that is asked for, and so far apart.
_ATTEMPTS, _APART = 20, 0.1
#: Their terminals, if they are there, show what was.
_ENDED = (*states.AT_REST, states.BACKOFF)
_FROM_AFAR = "ssh -t HOST gives one from afar"


def run(invocation: Invocation) -> int:
    team, agent = one_agent(invocation)
    whose: list[tuple[str, str | None]] = [("team", team), ("cwd", here()), ("agent", agent)]
    if modes := [mode for mode in MODES if invocation.flag(mode)]:
        if len(modes) > 1 or invocation.flag("read-only"):
            raise WrongUseError(
                "--observe, --drive, --moderate and --read-only exclude each other", "choose how to join: one of them"
            )
        return _shared(invocation, whose, agent, modes[0])
    if invocation.places.of_host and not invocation.json:
        return _on_a_host(invocation, whose, agent)
    read_only = "1" if invocation.flag("read-only") else "0"
    joining = target("/v1/attach", [*whose, ("read_only", read_only)])
    if invocation.json:
        write_json(ask(invocation.places, "GET", joining))
        return 0
    # What will not come to anything must not count as somebody who was there: that is journalled.
    before = _look(invocation, whose)
    _check(before, agent, "attach --json prints the command to run")
    argv = strings(ask(invocation.places, "GET", joining).get("argv"))
    # Inside another tmux these would make it refuse, or talk to the wrong server.
    environment = {name: value for name, value in os.environ.items() if name not in ("TMUX", "TMUX_PANE")}
    if before.get("terminal") == NO_TERMINAL:
        remark(f"{agent} has no terminal: this follows its output; ctrl-c leaves it, corral send {agent} speaks to it")
    elif before.get("state") in _ENDED:
        remark(f"{_told(before)}: this is its last screen. {_again(before)}")
    sys.stdout.flush()
    try:
        if before.get("terminal") == NO_TERMINAL:
            os.execvpe(argv[0], argv, environment)  # noqa: S606 - it ends with ctrl-c, and nothing is left to say then
        code = run_in_front(argv, environment)
    except (OSError, IndexError) as error:
        what = argv[0] if argv else "the command"
        raise UnavailableError(f"cannot run {what}: {error}", "is tmux installed, and in your PATH?") from None
    if said := _what_became_of(invocation, before):
        remark(said)
    return code


def _on_a_host(invocation: Invocation, whose: list[tuple[str, str | None]], agent: str) -> int:
    """On a shared server nobody but its keeper connects to an agent's tmux, not even whose it is."""
    before = _look(invocation, whose)
    if before.get("terminal") != NO_TERMINAL:
        return _shared(invocation, whose, agent, OBSERVE if invocation.flag("read-only") else DRIVE)
    _check(before, agent, _FROM_AFAR)
    remark(f"{agent} has no terminal: this follows its output; ctrl-c leaves it, corral send {agent} speaks to it")
    sys.stdout.flush()
    argv = [sys.executable, "-m", "corral", "logs", "--follow", f"{before.get('team')}/{before.get('agent')}"]
    os.execv(argv[0], argv)  # noqa: S606 - it ends with ctrl-c, and nothing is left to say then
    return 1


def _shared(invocation: Invocation, whose: list[tuple[str, str | None]], agent: str, mode: str) -> int:
    """Through the keeper, beside others."""
    from corral.cli.attach_shared import attach_shared

    before = _look(invocation, whose)
    if not invocation.json:
        _check(before, agent, _FROM_AFAR)
    code, why = attach_shared(invocation, whose, mode)
    if said := _what_became_of(invocation, before) or plain(why):
        remark(said)
    return code


def _look(invocation: Invocation, whose: list[tuple[str, str | None]]) -> Record:
    """The agent as `corral ps --json` shows it."""
    return ask_for_list(invocation.places, "GET", target("/v1/agents", whose))[0]


def _check(agent: Record, name: str, otherwise: str) -> None:
    """Refuse what cannot be shown here; `otherwise` is what helps whoever has no terminal."""
    if (agent.get("team"), agent.get("agent")) == (os.environ.get("CORRAL_TEAM"), os.environ.get("CORRAL_AGENT")):
        raise WrongUseError(f"this is {name}'s own terminal: it would show itself in itself", "attach from another one")
    if agent.get("terminal") != NO_TERMINAL and not (os.isatty(0) and os.isatty(1)):
        whole = f"{agent.get('team')}/{agent.get('agent')}"
        raise WrongUseError(
            "attach needs a terminal, and standard input or output is none",
            f"corral logs -f {whole} follows it, corral send {whole} … speaks to it; {otherwise}",
        )


def _what_became_of(invocation: Invocation, before: Record) -> str:
    """Why the terminal is gone, in words; empty if the agent is what it was, and somebody just left."""
    whose: list[tuple[str, str | None]] = [("team", str(before.get("team"))), ("agent", str(before.get("agent")))]
    now = before
    try:
        for _ in range(_ATTEMPTS):
            now = _look(invocation, whose)
            if now.get("state") != states.STOPPING:
                break
            time.sleep(_APART)
    except NotFoundError:
        return f"{before.get('agent')} is gone: corral events -t {before.get('team')} tells who removed it"
    except CorralError as error:
        return f"what became of {before.get('agent')} cannot be told: {error.message}"
    state, changed = now.get("state"), now.get("pid") != before.get("pid") and before.get("pid") is not None
    if state in (states.STARTING, states.RUNNING):
        again = f"{now.get('agent')} was started again: corral attach {now.get('team')}/{now.get('agent')} joins it"
        return again if changed else ""
    if state == before.get("state"):
        return ""
    return f"{_told(now)}; {_again(now)}" if state in states.AT_REST else _told(now)


def _told(agent: Record) -> str:
    """Its state and the reason of it."""
    reason = plain(str(agent.get("reason") or ""))
    return f"{agent.get('agent')} is {agent.get('state')}" + (f" ({reason})" if reason else "")


def _again(agent: Record) -> str:
    return f"corral restart {agent.get('team')}/{agent.get('agent')} starts it again"


COMMAND = Command(
    "attach",
    "join an agent's terminal",
    description=(
        "Your terminal becomes the agent's until you leave it with ctrl-b d; the agent goes on. If it is stopped or\n"
        "started again meanwhile, you are told so. Works from inside another tmux too. Of an agent that has ended you\n"
        "see the last screen, as long as that is there. Of an agent without a terminal the output is followed, until\n"
        "ctrl-c; that needs none of yours either. With --json it prints the command that would be run instead of\n"
        "running it.\n"
        "With --observe, --drive or --moderate you join through the agent's keeper, beside others: everybody sees who\n"
        "is there, and it is journalled. ctrl-b d leaves; who watches leaves with q, too. corral session tells who is\n"
        "there, and hands the keyboard over. With --json, what is shown comes as JSON lines.\n"
        "On a shared server that is the only way: there, plain `corral attach` is --drive, and with -r it is --observe."
    ),
    examples=(
        ("corral attach builder-1", "join it; ctrl-b d leaves"),
        ("corral attach -r builder-1", "only watch: keys do not reach the agent"),
        ("corral attach --observe builder-1", "watch beside others; whatever you type, it never reaches the agent"),
        ("corral attach --drive builder-1", "type beside others, through the keeper"),
        ("corral attach shop/builder-1", "an agent of a team that is not the one of this directory"),
    ),
    arguments=(Argument("AGENT", summary="the agent, as AGENT or TEAM/AGENT", offers=AGENTS),),
    options=(
        Option("read-only", "r", summary="watch only; keys do not reach the agent"),
        Option("observe", summary="watch through the keeper, beside others; you can never type"),
        Option("drive", summary="type through the keeper, beside others"),
        Option("moderate", summary="as --drive, and type also while the keyboard is somebody else's"),
        TEAM,
    ),
    run=run,
)
