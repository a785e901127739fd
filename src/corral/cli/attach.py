"""`corral attach`: join an agent's terminal."""

import os
import sys

from corral.cli.command import AGENTS, TEAM, Argument, Command, Invocation, Option
from corral.cli.output import remark, write_json
from corral.cli.progress import strings
from corral.cli.targets import here, one_agent
from corral.client.answers import ask
from corral.client.wire import target
from corral.domain.errors import UnavailableError, WrongUseError
from corral.domain.terminals import NO_TERMINAL


def run(invocation: Invocation) -> int:
    team, agent = one_agent(invocation)
    read_only = "1" if invocation.flag("read-only") else "0"
    parameters = [("team", team), ("cwd", here()), ("agent", agent), ("read_only", read_only)]
    answer = ask(invocation.places, "GET", target("/v1/attach", parameters))
    if invocation.json:
        write_json(answer)
        return 0
    me = (os.environ.get("CORRAL_TEAM"), os.environ.get("CORRAL_AGENT"))
    if (answer.get("team"), answer.get("agent")) == me:
        raise WrongUseError(
            f"this is {agent}'s own terminal: it would show itself in itself", "attach from another one"
        )
    argv = strings(answer.get("argv"))
    if answer.get("terminal") != NO_TERMINAL and not (os.isatty(0) and os.isatty(1)):
        raise WrongUseError(
            "attach needs a terminal, and standard input or output is none",
            f"corral logs -f {agent} follows it, corral send {agent} … speaks to it; "
            "attach --json prints the command to run",
        )
    if answer.get("terminal") == NO_TERMINAL:
        remark(f"{agent} has no terminal: this follows its output; ctrl-c leaves it, corral send {agent} speaks to it")
    # Inside another tmux these would make it refuse, or talk to the wrong server.
    environment = {name: value for name, value in os.environ.items() if name not in ("TMUX", "TMUX_PANE")}
    sys.stdout.flush()
    try:
        os.execvpe(argv[0], argv, environment)  # noqa: S606 - the terminal becomes the agent's
    except (OSError, IndexError) as error:
        what = argv[0] if argv else "the command"
        raise UnavailableError(f"cannot run {what}: {error}", "is tmux installed, and in your PATH?") from None


COMMAND = Command(
    "attach",
    "join an agent's terminal",
    description=(
        "Your terminal becomes the agent's until you leave it with ctrl-b d; the agent goes on. Works from inside\n"
        "another tmux too. Of an agent without a terminal the output is followed, until ctrl-c; that needs none of\n"
        "yours either. With --json it prints the command that would be run instead of running it."
    ),
    examples=(
        ("corral attach builder-1", "join it; ctrl-b d leaves"),
        ("corral attach -r builder-1", "only watch: keys do not reach the agent"),
        ("corral attach shop/builder-1", "an agent of a team that is not the one of this directory"),
    ),
    arguments=(Argument("AGENT", summary="the agent, as AGENT or TEAM/AGENT", offers=AGENTS),),
    options=(Option("read-only", "r", summary="watch only; keys do not reach the agent"), TEAM),
    run=run,
)
