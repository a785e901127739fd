"""What commands on agents share (`stop`, `pause`, `rm`, …): names or all of a team, progress, a line an agent."""

from corral.cli.command import AGENTS, SECONDS, Argument, Invocation, Option
from corral.cli.output import plain, say, write_json
from corral.cli.progress import Progress, entries, result_of
from corral.cli.targets import several_agents, whereabouts
from corral.client.answers import Record, records
from corral.domain.errors import WrongUseError

SOME_AGENTS = Argument(
    "AGENT", summary="the agents, as AGENT or TEAM/AGENT", required=False, repeated=True, offers=AGENTS
)
ALL = Option("all", "a", summary="all agents of the team")
GRACE = Option(
    "grace",
    value="S",
    kind=SECONDS,
    summary="how long agents may take to end by themselves: 500ms, 30s, 1m (default 5s)",
)


def work_on_agents(invocation: Invocation, path: str, **more: bool) -> list[Record]:
    """Have the daemon do `path` to the agents that are named, print what it says, and give an entry an agent."""
    team, agents = several_agents(invocation)
    everything = invocation.flag("all")
    name = invocation.command.name
    if not agents and not everything:
        raise WrongUseError(f"{name} needs an AGENT", f"name some, or say --all: corral {name} --all")
    if agents and everything:
        raise WrongUseError("--all and names of agents exclude each other", "leave one of them out")
    where = {name: value for name, value in whereabouts(team) if value is not None}
    request: Record = {**where, "agents": agents, "all": everything, **more}
    if invocation.command.option("grace") is not None:
        request["grace"] = invocation.number("grace")
    progress = Progress(silent=invocation.json, lines=False)
    result = result_of(records(invocation.places, "POST", path, request), progress)
    if invocation.json:
        write_json(result)
    return entries(result, "agents")


def say_states(agents: list[Record]) -> None:
    """A line an agent: `builder-1: stopped`."""
    for agent in agents:
        detail = f" ({plain(str(agent['detail']))})" if agent.get("detail") else ""
        say(f"{agent.get('agent')}: {agent.get('state')}{detail}")
