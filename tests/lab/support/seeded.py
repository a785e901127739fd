"""Agents that the daemon of a shared server knows, with credentials and cgroups, written into its store beforehand."""

import asyncio
import os
import secrets
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from corral.adapters.sqlite.store import SqliteStore
from corral.domain import credentials
from corral.domain.credentials import Names
from corral.domain.records import Agent, Who
from corral.ports.store import Change
from tests.lab.support.shared import system
from tests.lab.support.users import User
from tests.support.records import AGENT, TEAM

_STORE = "/var/lib/corral/corral.db"
_ROOT = Who(user="root", uid=0)


def scope_of(user: User, agent: str) -> str:
    """Where systemd puts a scope that the user asks for."""
    own = f"/user.slice/user-{user.uid}.slice/user@{user.uid}.service"
    return f"{own}/app.slice/corral-shop-{agent}.scope"


def know(*agents: tuple[User, str]) -> dict[str, str]:
    """Have the daemon know these agents as running, each in its scope; their credentials by name."""
    system("systemctl", "stop", "corral.service")
    given = asyncio.run(_write(agents))
    for path in Path("/var/lib/corral").glob("corral.db*"):
        system("chown", "corral:corral", str(path))
    system("systemctl", "start", "corral.service")
    return given


def forget() -> None:
    """Have it know nobody."""
    system("systemctl", "stop", "corral.service")
    for path in Path("/var/lib/corral").glob("corral.db*"):
        path.unlink()
    system("systemctl", "start", "corral.service")


async def _write(agents: Sequence[tuple[User, str]]) -> dict[str, str]:
    store = await SqliteStore.open(_STORE)
    try:
        given: dict[str, str] = {}
        records: list[Agent] = []
        for user, name in agents:
            names = Names(instance=store.instance, team="shop", agent=name, run=secrets.token_hex(6))
            given[name] = credentials.issue(names, secrets.token_urlsafe(24))
            kept = credentials.digest(given[name])
            cgroup = scope_of(user, name)
            records.append(replace(AGENT, name=name, run=names.run, user=user.name, credential=kept, cgroup=cgroup))
        await store.commit(Change(who=_ROOT, time=1.0, put_teams=[TEAM], put_agents=records))
        return given
    finally:
        await store.close()


def write_credential(user: User, directory: Path, name: str, credential: str) -> str:
    """A file of the user's that has it; its path."""
    path = directory / f"{user.name}-{name}.credential"
    path.write_text(credential + "\n")
    os.chown(path, user.uid, user.account.pw_gid)
    path.chmod(0o600)
    return str(path)
