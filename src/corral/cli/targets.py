"""Which agents a command line means: `AGENT` or `TEAM/AGENT`, with or without `--team`."""

import os

from corral.cli.command import Invocation
from corral.domain.errors import CorralError, WrongUseError

#: The file that declares the team of a directory.
SPEC = "corral.toml"


def one_agent(invocation: Invocation) -> tuple[str | None, str]:
    """The team, if one is named, and the agent."""
    team, names = _resolved(invocation.text("team"), [invocation.word("AGENT")])
    return team, names[0]


def several_agents(invocation: Invocation) -> tuple[str | None, list[str]]:
    """The team, if one is named, and the agents; they must be of one team."""
    return _resolved(invocation.text("team"), invocation.words("AGENT"))


def agent_and_team(team: str | None, agent: str | None) -> tuple[str | None, str | None]:
    """The team and the agent of options, either of which may be left out."""
    if agent is None:
        return team, None
    team, names = _resolved(team, [agent])
    return team, names[0]


def here() -> str:
    """The current directory: by it the daemon knows which team a bare name is about."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise CorralError("the current directory does not exist any more", "cd to one that does") from None


def nearest() -> str | None:
    """The `corral.toml` of this directory or of the nearest one above that has one."""
    directory = here()
    while True:
        path = os.path.join(directory, SPEC)
        if os.path.isfile(path):
            return path
        above = os.path.dirname(directory)
        if above == directory:
            return None
        directory = above


def whereabouts(team: str | None) -> list[tuple[str, str | None]]:
    """By what the daemon knows which team is meant: its name, or where one is who does not name it."""
    if team is not None:
        return [("team", team), ("cwd", here())]
    return [("cwd", here()), ("nearest", nearest())]


def absolute(path: str) -> str:
    """`path` from the root, as seen from the current directory."""
    return os.path.normpath(path if os.path.isabs(path) else os.path.join(here(), path))


def _resolved(team: str | None, words: list[str]) -> tuple[str | None, list[str]]:
    names = []
    for word in words:
        before, slash, name = word.rpartition("/")
        if not name or (slash and (not before or "/" in before)):
            raise WrongUseError(f"{word!r} names no agent", "write AGENT or TEAM/AGENT; corral ps shows them")
        if slash:
            if team is not None and team != before:
                raise WrongUseError(
                    f"{word} is not of team {team}", "one command is about one team: run it once for each"
                )
            team = before
        names.append(name)
    return team, names
