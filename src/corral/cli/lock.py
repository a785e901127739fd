"""`corral lock`: hold a name while a command runs."""

import os
import signal
import subprocess
import threading
from collections.abc import Callable

from corral.cli.command import AGENTS, SECONDS, TEAM, Argument, Command, Invocation, Option
from corral.cli.lease import show, time_to_live
from corral.cli.output import json_line, remark
from corral.cli.proc_targets import Whose, whose
from corral.client.answers import Record, ask
from corral.client.wire import ANSWER_SECONDS
from corral.domain.errors import CorralError, NotFoundError, RefusedError, WrongUseError

_TTL = 30.0
#: So often within its time the lock is renewed.
_RENEWALS = 3
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: The exit code if the command was successful and the lock was lost before: somebody else may have had it meanwhile.
LOST = 122
#: In the environment of the command: the tokens of all locks that it runs within, and of which instance they are.
_WITHIN = "CORRAL_LOCKS"


def run(invocation: Invocation) -> int:
    name, command = invocation.word("NAME"), invocation.words("COMMAND")
    of = whose(invocation)
    if name == "ls" and not command:
        return show(invocation, ask(of.places, "GET", Whose(of.places, of.team, None).request("/v1/locks")))
    if not command:
        raise WrongUseError("which command?", f"write it behind --, as in: corral lock {name} -- make deploy")
    wait = invocation.number("wait") or 0.0
    ttl = time_to_live(invocation) or _TTL
    within = _within(of)
    body: Record = {"name": name, "ttl": ttl, "wait": wait, "within": within}
    lock = ask(of.places, "POST", of.request("/v1/locks"), body, seconds=wait + ANSWER_SECONDS)
    if invocation.json:
        # Standard output is the command's.
        remark(json_line(lock).decode().rstrip("\n"))
    token = str(lock.get("token"))
    # A command can fence what it does by the token.
    variables = {
        **os.environ,
        "CORRAL_LOCK": name,
        "CORRAL_LOCK_TOKEN": token,
        _WITHIN: f"{','.join([*map(str, within), token])} {of.places.home}",
    }
    code, is_lost = _held(of, lock, name, lambda: _run(command, variables), ttl)
    return LOST if is_lost and not code else code


def _within(of: Whose) -> list[int]:
    """The tokens of the locks that this command runs within, outermost first: of this instance, and of no other."""
    tokens, _, home = os.environ.get(_WITHIN, "").partition(" ")
    return [int(token) for token in tokens.split(",") if token.isdecimal()] if home == of.places.home else []


def _held(of: Whose, lock: Record, name: str, run_it: Callable[[], int], ttl: float) -> tuple[int, bool]:
    """Run it, with the lock renewed beside it and released then. What it returns, and whether the lock was lost."""
    about = f"/v1/leases/{lock.get('lease')}"
    over, lost = threading.Event(), threading.Event()

    def renew() -> None:
        while not over.wait(ttl / _RENEWALS):
            try:
                ask(of.places, "POST", of.request(f"{about}/renew"), {"token": lock.get("token")})
            except (NotFoundError, RefusedError) as error:
                lost.set()
                remark(f"corral: the lock {name} is lost: {error.message}; the command goes on without it")
                return
            except CorralError as error:
                remark(f"corral: the lock {name} cannot be renewed: {error.message}")

    renewing = threading.Thread(target=renew, daemon=True)
    renewing.start()
    try:
        code = run_it()
    finally:
        over.set()
        renewing.join()
        try:
            ask(of.places, "POST", of.request(f"{about}/release"), {"token": lock.get("token")})
        except NotFoundError:
            lost.set()
            remark(f"corral: the lock {name} was not held to the end")
    return code, lost.is_set()


def _run(command: list[str], variables: dict[str, str]) -> int:
    """The command's exit code, 128 and the signal for a death by one. Signals that end us go to it first."""
    before = {number: signal.getsignal(number) for number in _PASSED_ON}
    try:
        process = subprocess.Popen(command, env=variables)
    except FileNotFoundError:
        raise NotFoundError(f"there is no program {command[0]}", "install it, or give its path") from None
    except OSError as error:
        raise CorralError(f"{command[0]} cannot be started: {error.strerror}", "is it a program?") from None
    try:
        for number in _PASSED_ON:
            signal.signal(number, lambda number, _: process.send_signal(number))
        code = process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code


COMMAND = Command(
    "lock",
    "hold a name while a command runs",
    description=(
        "No other command of the team holds the lock NAME while the command runs, be it of the same agent or person.\n"
        "It is released when the command ends, and by itself some seconds after this command was killed. Refused\n"
        "(exit 4) if another one has it; with --wait it stands in line. Within the command, the same lock is refused\n"
        "at once: it would wait for itself. The exit code is that of the command; 122 if that was successful, but\n"
        "the lock was lost before it ended. It finds CORRAL_LOCK_TOKEN in its environment: a number greater than\n"
        "that of every earlier holder. Standard output is the command's: with --json, the lock is told on standard\n"
        "error once it is held. `corral lock ls` lists the locks."
    ),
    examples=(
        ("corral lock deploy -- make deploy", "one at a time"),
        ("corral lock --wait 10m db -- ./migrate.sh", "stand in line for up to ten minutes"),
        ("corral lock ls", "who holds which"),
    ),
    arguments=(
        Argument("NAME", summary="the name of the lock; ls lists them"),
        Argument("COMMAND", summary="what to run, behind --", required=False, repeated=True),
    ),
    options=(
        Option("wait", value="S", kind=SECONDS, summary="stand in line for so long"),
        Option("ttl", value="S", kind=SECONDS, summary="how long it stays if this command is killed: 30s without it"),
        Option("agent", value="AGENT", summary="in the name of this agent; in an agent, that one", offers=AGENTS),
        TEAM,
    ),
    run=run,
)
