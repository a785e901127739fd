"""`corral proc ls`: the processes there are."""

import sys
import time

from corral.cli.amounts import size
from corral.cli.command import AGENTS, TEAM, Argument, Command, Invocation, Option
from corral.cli.output import DIM, GREEN, MAGENTA, RED, YELLOW, paint, plain, remark, takes_colour, width_of, write_json
from corral.cli.own_agent import own_agent
from corral.cli.proc_stream import number, remark_on_trouble
from corral.cli.proc_targets import Whose
from corral.cli.ps import age
from corral.cli.table import lines, shortened, shown_width
from corral.cli.targets import several_agents
from corral.cli.unknown import remark_on_unknown
from corral.client.answers import Record, ask_for_list_of_known
from corral.domain.errors import WrongUseError

HEADINGS = ("ID", "AGENT", "STATE", "AGE", "PIDS", "OUTPUT", "COMMAND")
_SHORTEST_COMMAND = 12


def run(invocation: Invocation) -> int:
    team, agents = several_agents(invocation)
    everything = invocation.flag("all")
    if everything and (team or agents):
        raise WrongUseError("--all means all agents of all teams", "leave out --all, or the names")
    agent = agents[0] if agents else None
    if team is None and agent is None and not everything:
        team, agent = own_agent(invocation.places)
    of = Whose(invocation.places, team, agent)
    processes, unknown = ask_for_list_of_known(of.places, "GET", of.request("/v1/processes"))
    if invocation.flag("running"):
        processes = [process for process in processes if process.get("running") or process.get("pids")]
    if invocation.json:
        write_json(processes)
    elif invocation.flag("quiet"):
        sys.stdout.write("".join(f"{process.get('process_id')}\n" for process in processes))
    elif processes:
        sys.stdout.write(_table(processes))
        sys.stdout.flush()
        for process in processes:
            remark_on_trouble(process)
    elif not unknown:
        remark("there is no process")
    remark_on_unknown(unknown)
    return 0


def state(process: Record) -> str:
    """How a process is, in a word or two: `running`, `exit 1`, `SIGKILL`, `unknown`."""
    if process.get("running"):
        return "running"
    if process.get("unknown"):
        return "unknown"
    return str(process.get("signal") or f"exit {process.get('exit_code')}")


def _table(processes: list[Record]) -> str:
    now = time.time()
    several = len({process.get("team") for process in processes}) > 1
    rows = [list(HEADINGS), *(_row(process, now, several=several) for process in processes)]
    width = width_of(sys.stdout)
    if width is not None:
        others = max(shown_width(line) for line in lines([row[:-1] for row in rows])) + 2
        room = max(width - others, _SHORTEST_COMMAND)
        rows = [[*row[:-1], shortened(row[-1], room)] for row in rows]
    text = lines(rows)
    if takes_colour(sys.stdout):
        text = [paint(text[0], DIM, True), *map(_coloured, text[1:], processes)]
    return "".join(line + "\n" for line in text)


def _row(process: Record, now: float, *, several: bool) -> list[str]:
    pids = process.get("pids")
    agent = f"{process.get('team')}/{process.get('agent')}" if several else str(process.get("agent"))
    return [
        str(process.get("process_id")),
        agent,
        state(process),
        age(now - _seconds(str(process.get("started_at")))),
        str(len(pids)) if isinstance(pids, list) else "0",
        size(number(process, "bytes")),
        "(hidden)" if process.get("hidden") else " ".join(plain(str(process.get("command"))).split()),
    ]


def _seconds(moment: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(moment).timestamp()


def _coloured(line: str, process: Record) -> str:
    said = state(process)
    if said == "running":
        colour = GREEN
    elif process.get("pids"):
        colour = YELLOW  # it has ended, and what it started has not
    elif said == "unknown":
        colour = MAGENTA
    else:
        colour = DIM if said == "exit 0" else RED
    return line.replace(f" {said} ", f" {paint(said, colour, True)} ", 1)


LIST = Command(
    "proc ls",
    "list processes",
    description=(
        "One line a process: its id, whose it is, how it is, how old, how many processes of it run, how much it has\n"
        "written, and the command. Without AGENT: of all agents, or in an agent its own. PIDS of a command that has\n"
        "ended are what it started and left behind; corral proc kill ends them. If the output of one is not recorded,\n"
        "as on a full disk, a line on standard error says so; so it does of a team whose keeper does not answer."
    ),
    examples=(
        ("corral proc ls", "those of all agents; in an agent, its own"),
        ("corral proc ls builder-1", "those of one agent"),
        ("corral proc ls --json -t shop", "for programs: a list of objects"),
    ),
    arguments=(Argument("AGENT", summary="the agent, as AGENT or TEAM/AGENT", required=False, offers=AGENTS),),
    options=(
        Option("all", "a", summary="of all agents of all teams, also in an agent"),
        Option("running", "r", summary="only those of which something runs"),
        Option("quiet", "q", summary="ids only, one a line; with --json it changes nothing"),
        TEAM,
    ),
    run=run,
)
