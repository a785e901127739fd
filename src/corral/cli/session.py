"""`corral session`: who shares the terminals of agents, and what a moderator does about it."""

import time

from corral.cli.command import AGENTS, TEAM, Argument, Command, Invocation
from corral.cli.output import plain, say, write_json
from corral.cli.ps import age
from corral.cli.table import lines
from corral.cli.targets import agent_and_team, here, one_agent
from corral.cli.unknown import remark_on_unknown
from corral.client.answers import Record, ask, ask_for_list_of_known
from corral.client.wire import target
from corral.domain.session_modes import END, HANDOVER, MODERATE, MUTE, RELEASE, UNMUTE

_HEADINGS = ["AGENT", "WHO", "MODE", "SINCE", "KEYBOARD", "SEAT"]
_AGENT = Argument("AGENT", summary="the agent, as AGENT or TEAM/AGENT", offers=AGENTS)
_PERSON = Argument("PERSON", summary="who, by name; by seat, if they have several")


def list_(invocation: Invocation) -> int:
    named = invocation.words("AGENT")
    team, agent = agent_and_team(invocation.text("team"), named[0] if named else None)
    parameters: list[tuple[str, str | None]] = [("team", team), ("agent", agent), ("cwd", here() if agent else None)]
    sessions, unknown = ask_for_list_of_known(invocation.places, "GET", target("/v1/sessions", parameters))
    rows = [row for session in sessions for row in _rows(session)]
    if invocation.json:
        write_json(sessions)
    elif rows:
        for line in lines([_HEADINGS, *rows]):
            say(line)
    elif not unknown:
        say("nobody shares a terminal through a keeper; corral attach --observe AGENT would")
    remark_on_unknown(unknown)
    return 0


def _rows(session: Record) -> list[list[str]]:
    from datetime import datetime

    seats = session.get("seats")
    rows = []
    for seat in seats if isinstance(seats, list) else []:
        since = datetime.fromisoformat(str(seat.get("since"))).timestamp()
        rows.append(
            [
                f"{session.get('team')}/{session.get('agent')}",
                plain(str(seat.get("who"))),
                plain(str(seat.get("mode"))),
                age(time.time() - since),
                "muted" if seat.get("muted") else "has it" if seat.get("keyboard") else "",
                plain(str(seat.get("seat"))),
            ]
        )
    return rows


def _unmuted(session: Record, person: str) -> str:
    """What somebody may do who is muted no more: that the keyboard is somebody else's still holds."""
    seats = session.get("seats")
    those = [seat for seat in seats if isinstance(seat, dict)] if isinstance(seats, list) else []
    holder = next((seat for seat in those if seat.get("keyboard")), None)
    free = [seat for seat in those if person in (seat.get("seat"), seat.get("who"))]
    if holder is None or any(seat is holder or seat.get("mode") == MODERATE for seat in free):
        return "{person} can type again"
    return "{person} is muted no more; the keyboard is " + _literal(f"{plain(str(holder.get('who')))}'s")


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _steer(invocation: Invocation, action: str, done: str) -> int:
    team, agent = one_agent(invocation)
    person = (invocation.words("PERSON") or [""])[0]
    order = {"team": team, "cwd": here(), "agent": agent, "action": action, "person": person}
    session = ask(invocation.places, "POST", "/v1/sessions/steer", order)
    if invocation.json:
        write_json(session)
    else:
        if action == UNMUTE:
            done = _unmuted(session, person)
        say(f"{session.get('team')}/{session.get('agent')}: " + done.format(person=plain(person) or "everybody"))
    return 0


LIST = Command(
    "session ls",
    "list who shares terminals",
    description=(
        "Everybody who joined with corral attach --observe, --drive or --moderate. Who attached without one of these\n"
        "has the terminal to themselves as far as Corral knows, and is not listed."
    ),
    examples=(
        ("corral session ls", "of all teams"),
        ("corral session ls builder-1 --json", "of one agent, for programs"),
    ),
    arguments=(Argument("AGENT", summary="the agent, as AGENT or TEAM/AGENT", required=False, offers=AGENTS),),
    options=(TEAM,),
    run=list_,
)
MUTE_ = Command(
    "session mute",
    "take no more keys from somebody",
    description="They go on seeing everything. The status bar says that they are muted.",
    examples=(("corral session mute builder-1 ben", "until corral session unmute"),),
    arguments=(_AGENT, _PERSON),
    options=(TEAM,),
    run=lambda invocation: _steer(invocation, MUTE, "{person} is muted"),
)
UNMUTE_ = Command(
    "session unmute",
    "take keys from somebody again",
    examples=(("corral session unmute builder-1 ben", "as before"),),
    arguments=(_AGENT, _PERSON),
    options=(TEAM,),
    run=lambda invocation: _steer(invocation, UNMUTE, "{person} can type again"),
)
HANDOVER_ = Command(
    "session handover",
    "hand the keyboard to somebody; nobody else types but moderators",
    description=(
        "Somebody who only watches cannot have it: they join again with --drive, if they may. When whoever has it\n"
        "leaves, every driver types again; corral session release has that at once."
    ),
    examples=(("corral session handover builder-1 ben", "it is ben's turn"),),
    arguments=(_AGENT, _PERSON),
    options=(TEAM,),
    run=lambda invocation: _steer(invocation, HANDOVER, "the keyboard is {person}'s"),
)
RELEASE_ = Command(
    "session release",
    "let every driver type again",
    examples=(("corral session release builder-1", "after a handover"),),
    arguments=(_AGENT,),
    options=(TEAM,),
    run=lambda invocation: _steer(invocation, RELEASE, "every driver can type"),
)
END_ = Command(
    "session end",
    "send somebody away, or everybody; the agent goes on",
    examples=(
        ("corral session end builder-1 ben", "only ben"),
        ("corral session end builder-1", "everybody"),
    ),
    arguments=(_AGENT, Argument("PERSON", summary="who; nobody means everybody", required=False)),
    options=(TEAM,),
    run=lambda invocation: _steer(invocation, END, "{person} was sent away; the agent goes on"),
)

COMMAND = Command(
    "session",
    "see who shares an agent's terminal, and steer it",
    description=(
        "Those who joined an agent's terminal with corral attach --observe, --drive or --moderate are in one session.\n"
        "Each is shown in the status bar; joining, leaving and what a moderator does is journalled."
    ),
    examples=(("corral session ls", "who is where?"), ("corral session handover builder-1 ben", "ben types now")),
    commands=(LIST, MUTE_, UNMUTE_, HANDOVER_, RELEASE_, END_),
)
