"""`corral resume`: let paused agents go on."""

from corral.cli.command import TEAM, Command, Invocation
from corral.cli.pause import may_run, say_held
from corral.cli.work import ALL, SOME_AGENTS, work_on_agents
from corral.domain.errors import CorralError


def run(invocation: Invocation) -> int:
    agents = work_on_agents(invocation, "/v1/resume")
    if not invocation.json:
        say_held(agents, done="resumed", already="was not paused", paused=False)
    missed = [str(agent.get("agent")) for agent in agents if agent.get("paused") and may_run(agent)]
    if missed:
        raise CorralError(f"not resumed: {', '.join(missed)}", f"corral events --agent {missed[0]} says why")
    return 0


COMMAND = Command(
    "resume",
    "let paused agents go on",
    description=(
        "Thaws agents that corral pause made stand still, with everything they started. They go on where they\n"
        "were. A first prompt that waited is said as soon as the agent is ready. An agent that is not paused is\n"
        "left alone."
    ),
    examples=(
        ("corral resume builder-1", "one agent"),
        ("corral resume --all -t shop", "every paused agent of a team, from anywhere"),
    ),
    arguments=(SOME_AGENTS,),
    options=(ALL, TEAM),
    run=run,
)
