"""`corral pause`: make agents stand still."""

from corral.cli.command import TEAM, Command, Invocation
from corral.cli.output import say
from corral.cli.work import ALL, SOME_AGENTS, work_on_agents
from corral.client.answers import Record
from corral.domain.errors import CorralError
from corral.domain.states import AT_REST, PENDING


def run(invocation: Invocation) -> int:
    agents = work_on_agents(invocation, "/v1/pause")
    if not invocation.json:
        say_held(agents, done="paused", already="was paused already", paused=True)
    missed = [str(agent.get("agent")) for agent in agents if not agent.get("paused") and may_run(agent)]
    if missed:
        raise CorralError(f"not paused: {', '.join(missed)}", "corral ps tells what it is about; then pause it again")
    return 0


def say_held(agents: list[Record], *, done: str, already: str, paused: bool) -> None:
    """A line an agent; of one that is not as it was to be, its state says why."""
    for agent in agents:
        if agent.get("state") != "running" or agent.get("paused") is not paused:
            said = f"{agent.get('state')}, not {done}"
        else:
            said = done if agent.get("changed") else already
        say(f"{agent.get('agent')}: {said}")


def may_run(agent: Record) -> bool:
    """False for one that is at rest: with --all there is nothing to do to it."""
    return agent.get("state") not in AT_REST | {PENDING}


COMMAND = Command(
    "pause",
    "make agents stand still, with everything they started",
    description=(
        "Freezes the agent and every process it started, at whatever level it is contained. It stays up and keeps\n"
        "its memory, its terminal and its place in the team, and uses no processor until corral resume; corral ps\n"
        "shows its activity as paused. It reads nothing: corral send is refused, and a first prompt waits. stop,\n"
        "restart, rm --force and down work as ever. With --all, those agents are meant that run."
    ),
    examples=(
        ("corral pause builder-1", "one agent; say it twice, and nothing more happens"),
        ("corral pause --all", "the whole team of this directory, at one moment"),
        ("corral pause shop/builder-1 shop/builder-2", "two agents of another team"),
    ),
    arguments=(SOME_AGENTS,),
    options=(ALL, TEAM),
    run=run,
)
