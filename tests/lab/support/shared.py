"""A shared server for the length of a test: set up by `corral host setup`, and removed so that nothing is left."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.lab.support.users import EVERYONE, Result, User
from tests.support.waiting import wait_for

HELPER = "/usr/local/libexec/corral/helper"
Document = dict[str, Any]


def system(*argv: str, check: bool = True, input: str = "") -> Result:  # noqa: A002 - as in subprocess.run
    """Run something as root."""
    done = subprocess.run(argv, capture_output=True, text=True, errors="replace", input=input, timeout=120, check=False)
    assert not check or done.returncode == 0, f"{argv}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done


def host(*words: str, check: bool = True) -> Result:
    """`corral host` as root."""
    return system("corral", "host", *words, check=check)


def missing() -> list[Document]:
    """What `corral host setup --check` finds missing; its exit code must agree."""
    done = host("setup", "--check", "--json", check=False)
    document: Document = json.loads(done.stdout)
    assert done.returncode == (0 if document["ready"] else 3), done.stderr
    found: list[Document] = document["missing"]
    return found


def as_daemon(*argv: str, input: str = "", env: Mapping[str, str] | None = None) -> Result:  # noqa: A002
    """Run something as the daemon's user."""
    variables = [f"{name}={value}" for name, value in (env or {}).items()]
    return system("runuser", "-u", "corral", "--", "env", *variables, *argv, check=False, input=input)


def ask(verb: str, user: str, **fields: str) -> tuple[int, Document]:
    """Ask the helper as the daemon does: exit code and answer."""
    return ask_raw(json.dumps({"verb": verb, "user": user, **fields}))


def ask_raw(request: str, *, env: Mapping[str, str] | None = None) -> tuple[int, Document]:
    """Ask the helper for something that need not be in order."""
    done = as_daemon("sudo", "-n", HELPER, input=request, env=env)
    assert done.stdout.count("\n") == 1, f"not one line: {done.stdout!r} {done.stderr!r}"
    answer: Document = json.loads(done.stdout)
    assert answer["ok"] == (done.returncode == 0)
    return done.returncode, answer


def refusal(verb: str, user: str, **fields: str) -> str:
    """What the helper says to something that it must refuse."""
    code, answer = ask(verb, user, **fields)
    assert (code, answer["error"]["code"]) == (4, "refused"), answer
    return str(answer["error"]["message"])


def add_member(user: User, group: str = "corral-members") -> None:
    """Make somebody a member of the server, or an agent's user."""
    system("usermod", "--append", "--groups", group, user.name)


@contextmanager
def shared_server(*members: User) -> Iterator[None]:
    """A host that is set up, with these members. Afterwards nothing of it is left."""
    before = footprint()
    host("setup", "--yes")
    try:
        for member in members:
            add_member(member)
        if members:
            host("setup", "--yes")
        for member in members:
            system("corral", "member", "add", member.name, "--role", "junior")
        yield
    finally:
        tidy(*members)
        host("remove", "--purge", "--force", "--yes")
        system("systemctl", "reset-failed", "corral.service", check=False)
    wait_for(lambda: footprint() == before, what=f"nothing is left: {footprint() ^ before}")


def tidy(*members: User) -> None:
    """Make a server that a test used as it was when these became its members."""
    for user in EVERYONE:
        if os.path.exists(f"{user.runtime_dir}/systemd/private"):
            user.systemctl("stop", "corral-keeper.service", check=False)
            user.systemctl("reset-failed", "corral-keeper.service", check=False)
        system("rm", "-rf", f"{user.home}/.local", f"{user.runtime_dir}/corral-host")
        remove_keeper_place(user)
        system("rm", "-rf", f"/srv/corral/{user.name}")
        if user not in members and os.path.exists(HELPER):
            ask("linger", user.name, state="off")
            for group in ("corral-members", "corral-agents"):
                system("gpasswd", "--delete", user.name, group, check=False)
    system("systemctl", "start", "corral.service", check=False)


def remove_keeper_place(user: User) -> None:
    """Take away where a user's keeper has its socket, as if it had never been there."""
    place = f"/run/corral/keepers/{user.uid}"
    if os.path.ismount(place):
        system("umount", "--lazy", place)
    system("rm", "-rf", place)


def footprint() -> set[str]:
    """Everything of this machine that a set-up touches: files by name, accounts, groups, units, linger."""
    places = ("/etc", "/usr/local", "/var/lib", "/run", "/srv")
    found = system("find", *places, "-xdev", "-name", "*corral*", "-not", "-path", "/run/user/*").stdout.splitlines()
    for database in ("/etc/passwd", "/etc/group", "/etc/gshadow", "/etc/shadow"):
        with open(database) as file:
            found += [f"{database}: {line}" for line in file if "corral" in line]
    found += [f"linger of {name}" for name in os.listdir("/var/lib/systemd/linger")]
    units = system("systemctl", "list-units", "--all", "--no-legend", "--plain", "corral*").stdout
    return {*found, *units.splitlines()}
