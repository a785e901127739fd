"""`corral port`: ports of an agent's own, and who listens on what."""

import sys

from corral.cli.command import AGENTS, TEAM, TEAMS, Argument, Command, Invocation, Option
from corral.cli.output import plain, remark, say, width_of, write_json
from corral.cli.proc_targets import Whose, whose
from corral.cli.table import lines, shortened, shown_width
from corral.cli.targets import agent_and_team
from corral.cli.unknown import remark_on_unknown
from corral.client.answers import Record, ask, ask_for_list_of_known
from corral.domain.errors import WrongUseError

HEADINGS = ("PORT", "AGENT", "NAME", "LISTENS", "PID", "COMMAND")
_SHORTEST_COMMAND = 12


def get(invocation: Invocation) -> int:
    words = invocation.words("NAME")
    if words == [""]:
        raise WrongUseError("no port has an empty name", "give one such as web, or leave it out for that of PORT")
    of = whose(invocation)
    if of.agent is None:
        raise WrongUseError("which agent's port?", "name it with --agent or CORRAL_AGENT; in an agent it is that one")
    answer = ask(of.places, "POST", of.request("/v1/ports", ("name", words[0] if words else None)))
    if invocation.json:
        write_json(answer)
    else:
        say(str(answer.get("port")))
    return 0


def ls(invocation: Invocation) -> int:
    of = Whose(invocation.places, *agent_and_team(invocation.text("team"), invocation.text("agent")))
    ports, unknown = ask_for_list_of_known(of.places, "GET", of.request("/v1/ports"))
    if invocation.json:
        write_json(ports)
    elif ports:
        for line in _table(ports):
            say(line)
    elif not unknown:
        remark("no agent has ports, and none listens")
    remark_on_unknown(unknown)
    return 0


def _table(ports: "list[Record]") -> "list[str]":
    several = len({port.get("team") for port in ports if port.get("team")}) > 1
    rows = [list(HEADINGS), *(_row(port, several=several) for port in ports)]
    width = width_of(sys.stdout)
    if width is not None:
        others = max(shown_width(line) for line in lines([row[:-1] for row in rows])) + 2
        room = max(width - others, _SHORTEST_COMMAND)
        rows = [[*row[:-1], shortened(row[-1], room)] for row in rows]
    return lines(rows)


def _row(port: Record, *, several: bool) -> "list[str]":
    agent = str(port.get("agent") or "(no agent)")
    if several and port.get("agent"):
        agent = f"{port.get('team')}/{agent}"
    leased, pid = port.get("leased"), port.get("pid")
    name = str(port.get("name") or ("" if leased else "(not leased)"))
    listens = "unknown" if port.get("unknown") else "yes" if port.get("listening") else "no"
    return [
        str(port.get("port")),
        agent,
        name,
        listens,
        "" if pid is None else str(pid),
        "(hidden)" if port.get("hidden") and pid is not None else plain(" ".join(str(port.get("command")).split())),
    ]


COMMAND = Command(
    "port",
    "give agents ports of their own, and tell who listens on what",
    description=(
        "Every agent has a block of ports from corral up on, 10 of them if its corral.toml says nothing else. Nobody\n"
        "else gets one of them for as long as the agent is in its team. The first is in its environment as PORT,\n"
        "those that corral.toml names as CORRAL_PORT_NAME, and more are given out by name."
    ),
    examples=(
        ("corral port get", "the port that is PORT"),
        ("corral port get web", "the port of that name, always the same"),
        ("corral port ls", "who has which port, and who listens"),
    ),
    commands=(
        Command(
            "port get",
            "print a port of an agent",
            description=(
                "Prints one number. The same name always means the same port. A new name gets the next port of the\n"
                "agent's block that nobody listens on; exit code 4 if there is none. Without NAME it is the first\n"
                "port of the block, which the agent has as PORT."
            ),
            examples=(
                ("corral port get web", "in an agent: the port of its web server"),
                ("corral port get web --agent shop/api", "from elsewhere"),
                ("vite --port $(corral port get web)", "a server that fights with nobody"),
            ),
            arguments=(Argument("NAME", summary="a name of your choice, such as web", required=False),),
            options=(
                Option(
                    "agent", value="AGENT", summary="the agent, AGENT or TEAM/AGENT; in an agent, itself", offers=AGENTS
                ),
                TEAM,
            ),
            run=get,
        ),
        Command(
            "port ls",
            "list ports of agents, and who listens on what",
            description=(
                "The ports that agents have, and every TCP port that something of an agent listens on, also if nobody\n"
                "leased it. A line without an agent is somebody else who listens on a port that is an agent's."
            ),
            examples=(
                ("corral port ls", "of all agents"),
                ("corral port ls --agent api --json", "of one, for programs"),
            ),
            options=(
                Option("agent", value="AGENT", summary="only this agent, AGENT or TEAM/AGENT", offers=AGENTS),
                Option("team", "t", value="TEAM", summary="only this team", offers=TEAMS),
            ),
            run=ls,
        ),
    ),
)
