"""`corral stop`: stop agents, keep their place in the team."""

from corral.cli.command import TEAM, Command, Invocation
from corral.cli.work import ALL, GRACE, SOME_AGENTS, say_states, work_on_agents
from corral.domain.errors import CorralError
from corral.domain.states import LIVE


def run(invocation: Invocation) -> int:
    agents = work_on_agents(invocation, "/v1/stop")
    if not invocation.json:
        say_states(agents)
    alive = [str(agent.get("agent")) for agent in agents if agent.get("state") in LIVE]
    if alive:
        raise CorralError(f"not stopped: {', '.join(alive)}", f"corral events --agent {alive[0]} says why")
    return 0


COMMAND = Command(
    "stop",
    "stop agents; they stay in the team",
    description=(
        "Ends the agent and every process it started: first politely, after the grace by force. Its workspace,\n"
        "its log and its place in the team stay; corral up or corral restart starts it again."
    ),
    examples=(
        ("corral stop builder-1", "stop one agent"),
        ("corral stop --all", "stop the whole team of this directory, but keep it"),
        ("corral stop --grace 1m builder-1 builder-2", "give them a minute to end by themselves"),
    ),
    arguments=(SOME_AGENTS,),
    options=(ALL, GRACE, TEAM),
    run=run,
)
