"""Whose processes a command line means. In an agent it is the agent's own, unless another one is named."""

import os

from corral.cli.command import AGENTS, TEAM, Invocation, Option
from corral.cli.own_agent import own_agent
from corral.cli.targets import agent_and_team, whereabouts
from corral.client.wire import LONGEST_ID, target
from corral.domain.errors import NotFoundError
from corral.places import Places

OF_AGENT = (
    Option("agent", value="AGENT", summary="only processes of this agent, AGENT or TEAM/AGENT", offers=AGENTS),
    TEAM,
)


class Whose:
    """A team and an agent, either of which may be left open, and the requests about their processes."""

    __slots__ = ("agent", "places", "team")

    def __init__(self, places: Places, team: str | None, agent: str | None) -> None:
        self.places = places
        self.team = team
        self.agent = agent

    def request(self, path: str, *parameters: tuple[str, str | None]) -> str:
        """A path with who is meant, and more parameters."""
        return target(path, [*whereabouts(self.team), ("agent", self.agent), *parameters])

    def about(self, process: str, path: str = "", *parameters: tuple[str, str | None]) -> str:
        """The request about one process."""
        # What is no id must not lead to another path. Nor could the daemon name it as it was given.
        if not (process.isascii() and process.isalnum()) or len(process) > LONGEST_ID:
            raise NotFoundError(f"there is no process {_printable(process)}", "corral proc ls shows those there are")
        return self.request(f"/v1/processes/{process}{path}", *parameters)


def whose(invocation: Invocation) -> Whose:
    """Whom `--agent` and `--team` name; if they name nobody, whom `CORRAL_AGENT` does."""
    team, agent = agent_and_team(invocation.text("team"), invocation.text("agent"))
    if team is None and agent is None:
        team, agent = own_agent(invocation.places)
    return Whose(invocation.places, team, agent)


def _printable(text: str) -> str:
    """`text` with bytes that are no UTF-8, and whatever else cannot be printed, spelled out."""
    shown = os.fsencode(text).decode("utf-8", "backslashreplace")[:LONGEST_ID]
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in shown) or "''"
