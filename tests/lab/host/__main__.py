"""The command line of the lab; ./script/lab is the way to it."""

import argparse
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Sequence
from types import FrameType

from tests.lab.host import cgroups, full, tree
from tests.lab.host.check import check
from tests.lab.host.errors import CannotRunError, LabError
from tests.lab.host.machine import Machine
from tests.lab.host.tree import REPOSITORY, say

#: The exit code of `check`, and of everything else, where the lab cannot run.
CANNOT_RUN = 3
_PYTEST = ["/opt/corral-venv/bin/python", "-m", "pytest", "-p", "no:cacheprovider"]
_TEST_SECONDS = 1800
_SHELL_SECONDS = 12 * 3600


def main(arguments: Sequence[str]) -> int:
    """Do what the words say; the exit code."""
    for one in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, _leave)
    parser, rest = _parser(), []
    # What follows the command belongs to pytest or to the shell, dashes included.
    words, rest = list(arguments[:1]), list(arguments[1:])
    if words and words[0] in ("test", "shell") and rest[:1] not in (["-h"], ["--help"]):
        chosen = parser.parse_args(words)
    else:
        chosen, rest = parser.parse_args(arguments), []
    try:
        action: Callable[[argparse.Namespace, list[str]], int] = chosen.action
        return action(chosen, rest)
    except CannotRunError as reason:
        print(f"the lab cannot run here: {reason}", file=sys.stderr)
        return CANNOT_RUN
    except LabError as error:
        print(error.detail, f"error: {error}", sep="\n", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./script/lab", description="Machines with real systemd, tmux and users.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    one = commands.add_parser("check", help=f"can the lab run here? exit code {CANNOT_RUN} and the reason if not")
    one.set_defaults(action=_check)
    one = commands.add_parser("build", help="make the tree from which machines boot, if it is not there")
    one.add_argument("--again", action="store_true", help="make it even if it is there: for newer packages")
    one.add_argument("--full", action="store_true", help="also the disk of the full machine, with a kernel of its own")
    one.set_defaults(action=_build)
    one = commands.add_parser(
        "test", help="[--full] run tests/lab in a new machine; arguments are pytest's", add_help=True
    )
    one.set_defaults(action=_test)
    one = commands.add_parser("shell", help="[USER [COMMAND…]]: log in to a new machine, as root if nobody is named")
    one.set_defaults(action=_shell)
    one = commands.add_parser("down", help="take away what a killed driver left")
    one.set_defaults(action=_down)
    return parser


def _check(_chosen: argparse.Namespace, _rest: list[str]) -> int:
    check()
    return 0


def _build(chosen: argparse.Namespace, _rest: list[str]) -> int:
    check()
    print(tree.build(chosen.again))
    if chosen.full:
        print(full.build(chosen.again))
    return 0


def _test(_chosen: argparse.Namespace, rest: list[str]) -> int:
    check()
    named = any((REPOSITORY / word.partition("::")[0]).exists() for word in rest if not word.startswith("-"))
    environment = {"CORRAL_LAB_INSIDE": "1", "HOME": "/root", "TERM": os.environ.get("TERM", "dumb")}
    if rest[:1] == ["--full"]:
        variables = ["env", "CORRAL_LAB_INSIDE=1", "CORRAL_LAB_FULL=1"]
        command = [*variables, *_PYTEST, *([] if named else ["-m", "full_machine", "tests/lab"]), *rest[1:]]
        return full.run(command, seconds=_TEST_SECONDS)
    command = [*_PYTEST, *([] if named else ["tests/lab"]), *rest]
    with tree.in_use() as place:
        began = time.monotonic()
        with Machine(place) as machine:
            say(f"booted in {time.monotonic() - began:.1f} s")
            code = machine.run(command, seconds=_TEST_SECONDS, environment=environment)
            ended = time.monotonic()
        say(f"powered off in {time.monotonic() - ended:.1f} s")
    return code


def _shell(_chosen: argparse.Namespace, rest: list[str]) -> int:
    check()
    user, command = (rest[0] if rest else "root"), [word for word in rest[1:] if word != "--"]
    login = ["runuser", "--login", user]
    if command:
        login += ["--command", command[0] if len(command) == 1 else shlex.join(command)]
    with tree.in_use() as place, Machine(place) as machine:
        environment = {"XDG_SESSION_CLASS": "user", "TERM": os.environ.get("TERM", "dumb")}
        return machine.run(login, seconds=_SHELL_SECONDS, environment=environment, tty=sys.stdin.isatty())


def _down(_chosen: argparse.Namespace, _rest: list[str]) -> int:
    check()
    for place in cgroups.abandoned():
        say(f"removing {place}")
        cgroups.remove(place)
    return 0


def _leave(number: int, _frame: FrameType | None) -> None:
    """As by ctrl-c: what was begun is taken away first."""
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
