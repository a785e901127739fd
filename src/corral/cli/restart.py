"""`corral restart`: stop agents and start them again."""

from corral.cli.command import TEAM, Command, Invocation, Option
from corral.cli.work import ALL, GRACE, SOME_AGENTS, say_states, work_on_agents
from corral.domain.errors import CorralError
from corral.domain.states import AT_REST, UNKNOWN


def run(invocation: Invocation) -> int:
    agents = work_on_agents(invocation, "/v1/restart", fresh=invocation.flag("fresh"))
    if not invocation.json:
        say_states(agents)
    down = [str(agent.get("agent")) for agent in agents if agent.get("state") in AT_REST | {UNKNOWN}]
    if down:
        raise CorralError(
            f"not running again: {', '.join(down)}",
            f"corral logs {down[0]} shows its last words; corral up makes a workspace again that is gone",
        )
    return 0


COMMAND = Command(
    "restart",
    "stop agents and start them again",
    description=(
        "Starts each agent again as it was declared when the team came up, in the same workspace. An agent that\n"
        "does not run is just started. For a declaration that has changed since, use corral up --restart-changed.\n"
        "An agent that keeps its conversations goes on with the last one, and is not told its first prompt again;\n"
        "with --fresh it starts over. One that failed because its worktree was gone has it again; one that has\n"
        "never run is started by corral up alone."
    ),
    examples=(
        ("corral restart builder-1", "restart one agent"),
        ("corral restart --fresh builder-1", "start over: a new conversation, and the first prompt"),
        ("corral restart --all -t shop", "restart a whole team, from anywhere"),
    ),
    arguments=(SOME_AGENTS,),
    options=(ALL, Option("fresh", summary="begin a new conversation"), GRACE, TEAM),
    run=run,
)
