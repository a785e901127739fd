"""`corral init`: write a `corral.toml` that fits the repository and the coding agents that are installed."""

import contextlib
import errno
import os
import shutil
import sys
import tempfile
from dataclasses import replace

from corral.agents.catalogue import profiles
from corral.agents.profile import Profile
from corral.cli.command import FILES, Argument, Command, Invocation, Option
from corral.cli.init_repository import repository_of
from corral.cli.output import say, write_json
from corral.cli.targets import SPEC, absolute, here
from corral.domain.errors import CorralError, NotFoundError, RefusedError, WrongUseError
from corral.domain.spec_model import SHARED
from corral.domain.starter import KnownAgent, Starter, Surroundings, starter
from corral.own_command import own_program

_DEMO = "demo"


def run(invocation: Invocation) -> int:
    directory = _directory(invocation.words("DIR"))
    path = os.path.join(directory, SPEC)
    around = replace(_look_around(directory), mcp=invocation.flag("mcp"))
    file = starter(around)
    _write(path, file.text, anew=invocation.flag("force"))
    if invocation.json:
        detected = [agent.name for agent in around.installed]
        write_json({"file": path, "team": file.team, "agents": list(file.agents), "detected": detected})
    else:
        _tell(path, around, file)
    return 0


def _directory(words: list[str]) -> str:
    # Without links on the way, `..` is the directory above, for us and for whoever reads the file.
    directory = os.path.realpath(absolute(words[0]) if words else here())
    if not os.path.exists(directory):
        raise NotFoundError(f"there is no directory {directory}", "make it first, or name another one")
    if not os.path.isdir(directory):
        raise WrongUseError(f"{directory} is not a directory", "name the directory that the file is for")
    return directory


def _look_around(directory: str) -> Surroundings:
    repository = repository_of(directory)
    demo = next(profile for profile in profiles() if profile.name == _DEMO)
    others = [profile for profile in profiles() if profile is not demo]
    installed = [profile for profile in others if shutil.which(profile.executable)]
    return Surroundings(
        directory=os.path.basename(directory),
        repo=os.path.relpath(repository.top, directory) if repository else None,
        has_commit=repository is not None and repository.has_commit,
        installed=tuple(map(_known, installed)),
        missing=tuple(_known(profile) for profile in others if profile not in installed),
        fallback=_known(_startable(demo)),
    )


def _known(profile: Profile) -> KnownAgent:
    return KnownAgent(name=profile.name, title=profile.title, command=profile.command, note=profile.note)


def _startable(demo: Profile) -> Profile:
    """The demo agent of this very Corral: by its name if that leads to it on PATH, and else by its path."""
    own, found = own_program(), shutil.which(demo.executable)
    if found and (own is None or os.path.samefile(found, own)):
        return demo
    if own is None:
        return replace(demo, command=(sys.executable, "-m", *demo.command))
    return replace(demo, command=(own, *demo.command[1:]))


def _tell(path: str, around: Surroundings, file: Starter) -> None:
    say(f"wrote {path}: team {file.team} with {', '.join(file.agents)}")
    if not around.installed:
        say("no coding agent was found on PATH: the demo agent stands in, and the file has examples of others")
    if file.workspace == SHARED:
        why = "there is no git repository here" if around.repo is None else "the repository has no commit yet"
        say(f"{why}: the agents share one directory")
    say("next: look at the file, then corral up")


def _write(path: str, text: str, *, anew: bool) -> None:
    """Write the file whole or not at all; one that is there already is replaced only if asked for."""
    directory = os.path.dirname(path)
    if os.path.isdir(path):
        raise RefusedError(f"{path} is a directory", "move it away, or name another directory: corral init DIR")
    if os.path.lexists(path) and not anew:
        raise _exists(path)
    new = ""
    try:
        handle, new = tempfile.mkstemp(prefix=f".{SPEC}.", dir=directory)
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            # mkstemp makes files that only their owner can read; this one is for the whole repository.
            os.fchmod(file.fileno(), 0o666 & ~_umask())
            os.fsync(file.fileno())
        if anew:
            os.replace(new, path)
        else:
            _move_unless_there(new, path)
    except OSError as error:
        raise CorralError(
            f"cannot write {path}: {error.strerror}",
            "make the directory writable for you, or name another one: corral init DIR",
        ) from None
    finally:
        if new:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(new)


def _move_unless_there(new: str, path: str) -> None:
    """Give a file its name; somebody who has just taken that name wins."""
    try:
        os.link(new, path)
    except FileExistsError:
        raise _exists(path) from None
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.EACCES, errno.EMLINK, errno.ENOSYS):
            raise
        # A file system without hard links.
        os.rename(new, path)


def _exists(path: str) -> RefusedError:
    return RefusedError(f"{path} is already there", "change it by hand, or replace it with corral init --force")


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


COMMAND = Command(
    "init",
    "write a corral.toml that fits this repository",
    description=(
        "Looks at the git repository and at which coding agents are installed, and writes a corral.toml that\n"
        "works as it is and explains the keys that most teams need; docs/reference/corral-toml.md has all of them.\n"
        "Without a coding agent the team has the demo agent, which needs no model and no key. Nothing is started,\n"
        "and a file that is there is left alone."
    ),
    examples=(
        ("corral init", "write corral.toml here"),
        ("corral init services/api", "in another directory"),
        ("corral init --force", "replace the one that is there"),
        ("corral init --mcp", "have corral up register Corral's MCP server with the agents"),
    ),
    arguments=(
        Argument("DIR", summary="the directory of the file; this one by default", required=False, offers=FILES),
    ),
    options=(
        Option("force", summary="replace a corral.toml that is there"),
        Option("mcp", summary="write mcp = true: corral up then tells coding agents of Corral's tools"),
    ),
    run=run,
)
