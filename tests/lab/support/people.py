"""People on a shared server, and the teams that they have there."""

import json
from typing import Any

from tests.lab.support.shared import system
from tests.lab.support.users import Result, User

Row = dict[str, Any]
AGENTS = ("api", "web")


def spec(user: User, team: str, text: str) -> str:
    """Write a team's file in a directory of the user's; that directory."""
    directory = f"{user.home}/{team}"
    user.run("mkdir", "-p", directory)
    user.run("tee", f"{directory}/corral.toml", input=text)
    return directory


def up(user: User, team: str, *words: str, settings: str = "", extra: str = "", check: bool = True) -> Result:
    """Bring a team of two agents up as this user; `settings` are lines of [team], `extra` of every agent."""
    agents = "".join(f'[agents.{name}]\ncommand = ["sleep", "1000"]\n{extra}\n' for name in AGENTS)
    directory = spec(user, team, f'[team]\nname = "{team}"\n{settings}\n{agents}')
    return user.run("corral", "up", "--json", *words, cwd=directory, check=check)


def repository(user: User, team: str) -> str:
    """A repository of the user's with one commit, where the team's file will be."""
    directory = f"{user.home}/{team}"
    user.run("git", "init", "--quiet", directory)
    who = ("-c", f"user.name={user.name}", "-c", f"user.email={user.name}@example.org")
    user.run("git", "-C", directory, *who, "commit", "--quiet", "--allow-empty", "--message", "begin")
    return directory


def rows(user: User) -> list[Row]:
    """What `ps` shows this user."""
    found: list[Row] = json.loads(user.run("corral", "ps", "--json").stdout)
    return found


def states(user: User) -> dict[tuple[str, str], str]:
    """By team and agent."""
    return {(row["team"], row["agent"]): row["state"] for row in rows(user)}


def pids(user: User) -> dict[tuple[str, str], int]:
    """By team and agent."""
    return {(row["team"], row["agent"]): row["pid"] for row in rows(user)}


def daemon() -> int:
    """Its pid."""
    return int(system("systemctl", "show", "--property=MainPID", "--value", "corral.service").stdout)


def keeper(user: User) -> int:
    """The pid of a user's keeper; 0 if there is none."""
    return int(user.systemctl("show", "--property=MainPID", "--value", "corral-keeper.service").stdout)


def down(user: User, team: str, *words: str) -> Row:
    """Take a team down; the receipt."""
    receipt: Row = json.loads(user.run("corral", "down", "--team", team, "--json", *words).stdout)
    return receipt


def events(user: User, after: int = 0) -> list[Row]:
    """What was journalled after that number."""
    found = [json.loads(line) for line in user.run("corral", "events", "--json").stdout.splitlines()]
    return [event for event in found if event["seq"] > after]


def leave(*people: User) -> None:
    """Take down whatever they have up, and remove their files."""
    for user in people:
        for team in {row["team"] for row in rows(user) if row["user"] == user.name}:
            user.run("corral", "down", "--team", team, "--discard", check=False)
        system("rm", "-rf", f"{user.home}/shop", f"{user.home}/mill")
