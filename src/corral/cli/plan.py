"""How the result of `up` reads: what was done or would be, and what differs."""

import sys

from corral.cli.output import BLUE, DIM, GREEN, RED, YELLOW, paint, plain, say, takes_colour
from corral.cli.progress import entries, strings
from corral.cli.table import padded, shown_width
from corral.client.answers import Record

#: action → mark, colour, and the words for a plan.
_ACTIONS = {
    "start": ("+", GREEN, "would be started"),
    "restart": ("↻", BLUE, "would be restarted"),
    "adjust": ("≈", BLUE, "would get other limits, without a restart"),
    "changed": ("~", YELLOW, "runs otherwise than declared"),
    "extra": ("-", DIM, "is up but not declared any more"),
    "fork": ("⑂", DIM, "was forked from another, and is started if it does not run"),
    "keep": ("=", DIM, "is as declared"),
    "pending": ("…", YELLOW, "would wait"),
    "failed": ("✗", RED, "could not be started"),
}
_UNKNOWN_ACTION = ("·", "", "")


def show(result: Record) -> None:
    """Print the result of `up`."""
    for line in lines(result, colour=takes_colour(sys.stdout)):
        say(line)


def lines(result: Record, *, colour: bool = False) -> list[str]:
    """The result of `up` as text."""
    team = str(result.get("team", ""))
    agents = entries(result, "agents")
    if result.get("dry_run"):
        return _plan(team, agents, colour)
    notes = [f"  {paint('!', YELLOW, colour)} {plain(note)}" for note in strings(result.get("notes"))]
    return [_headline(team, agents, changed=bool(result.get("changed"))), *_remarks(team, agents, colour), *notes]


def _plan(team: str, agents: list[Record], colour: bool) -> list[str]:
    if all(agent.get("action") in ("keep", "fork") for agent in agents):
        return [_nothing_to_do(team, len(agents))]
    width = max(shown_width(str(agent.get("agent"))) for agent in agents)
    text = [f"{team}: the plan; nothing was changed"]
    for agent in agents:
        mark, tint, words = _ACTIONS.get(str(agent.get("action")), _UNKNOWN_ACTION)
        words = words or str(agent.get("action"))
        because = _because(agent)
        text.append(f"  {paint(mark, tint, colour)} {padded(str(agent.get('agent')), width)}  {words}{because}")
    if any(agent.get("action") == "changed" for agent in agents):
        text.append("  corral up --restart-changed would restart what differs")
    return text


def _headline(team: str, agents: list[Record], *, changed: bool) -> str:
    count = {action: sum(agent.get("action") == action for agent in agents) for action in _ACTIONS}
    parts = [
        f"{count[action]} {words}"
        for action, words in (
            ("start", "started"),
            ("restart", "restarted"),
            ("adjust", "got other limits"),
            ("pending", "pending"),
            ("failed", "failed"),
            ("keep", "as declared"),
            ("changed", "left as it is, but differs" if count["changed"] == 1 else "left as they are, but differ"),
            ("extra", "not declared any more"),
            ("fork", "forked"),
        )
        if count[action]
    ]
    if count["keep"] + count["fork"] == len(agents) and not changed:
        return _nothing_to_do(team, len(agents))
    return f"{team}: {', '.join(parts)}"


def _remarks(team: str, agents: list[Record], colour: bool) -> list[str]:
    text = []
    for agent in agents:
        name, action, detail = str(agent.get("agent")), agent.get("action"), plain(str(agent.get("detail") or ""))
        mark, tint, _ = _ACTIONS.get(str(action), _UNKNOWN_ACTION)
        start = f"  {paint(mark, tint, colour)} {name}"
        if action == "failed":
            text.append(start + (f": {detail}" if detail else " failed"))
        elif action == "pending":
            text.append(f"{start} is pending" + (f": {detail}" if detail else ""))
        elif action == "changed":
            text.append(f"{start} runs otherwise than declared{_because(agent)}")
        elif action == "extra":
            text.append(f"{start} is up but not declared any more: corral rm --force {team}/{name} removes it")
    if any(agent.get("action") == "changed" for agent in agents):
        text.append("  corral up --restart-changed restarts what differs")
    return text


def _because(agent: Record) -> str:
    differs = strings(agent.get("differs"))
    detail = plain(str(agent.get("detail") or ""))
    because = f"{', '.join(differs)} {'differs' if len(differs) == 1 else 'differ'}" if differs else detail
    return f": {because}" if because else ""


def _nothing_to_do(team: str, count: int) -> str:
    return f"{team}: nothing to do, {count} {'agent is' if count == 1 else 'agents are'} as declared"
