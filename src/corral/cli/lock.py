"""`corral lock`: hold a name while a command runs."""

import os
import signal
import subprocess
import threading

from corral.cli.command import AGENTS, SECONDS, TEAM, Argument, Command, Invocation, Option
from corral.cli.lease import show
from corral.cli.output import remark, write_json
from corral.cli.proc_targets import Whose, whose
from corral.client.answers import Record, ask
from corral.client.wire import ANSWER_SECONDS
from corral.domain.errors import CorralError, NotFoundError, RefusedError, WrongUseError

_TTL = 30.0
#: So often within its time the lock is renewed.
_RENEWALS = 3
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(invocation: Invocation) -> int:
    name, command = invocation.word("NAME"), invocation.words("COMMAND")
    of = whose(invocation)
    if name == "ls" and not command:
        return show(invocation, ask(of.places, "GET", Whose(of.places, of.team, None).request("/v1/locks")))
    if not command:
        raise WrongUseError("which command?", f"write it behind --, as in: corral lock {name} -- make deploy")
    wait = invocation.number("wait") or 0.0
    ttl = invocation.number("ttl") or _TTL
    body: Record = {"name": name, "ttl": ttl, "wait": wait}
    lock = ask(of.places, "POST", of.request("/v1/locks"), body, seconds=wait + ANSWER_SECONDS)
    if invocation.json:
        write_json(lock)
    return _held(of, lock, name, command, ttl)


def _held(of: Whose, lock: Record, name: str, command: list[str], ttl: float) -> int:
    """Run the command; the lock is renewed beside it, and released when it has ended."""
    about = f"/v1/leases/{lock.get('lease')}"
    over = threading.Event()

    def renew() -> None:
        while not over.wait(ttl / _RENEWALS):
            try:
                ask(of.places, "POST", of.request(f"{about}/renew"), {"token": lock.get("token")})
            except (NotFoundError, RefusedError) as error:
                remark(f"corral: the lock {name} is lost: {error.message}; the command goes on without it")
                return
            except CorralError as error:
                remark(f"corral: the lock {name} cannot be renewed: {error.message}")

    # A command can fence what it does by the token.
    variables = {**os.environ, "CORRAL_LOCK": name, "CORRAL_LOCK_TOKEN": str(lock.get("token"))}
    renewing = threading.Thread(target=renew, daemon=True)
    renewing.start()
    try:
        return _run(command, variables)
    finally:
        over.set()
        renewing.join()
        try:
            ask(of.places, "POST", of.request(f"{about}/release"), {"token": lock.get("token")})
        except NotFoundError:
            remark(f"corral: the lock {name} was not held to the end")


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
        "Nobody else of the team holds the lock NAME while the command runs. It is released when the command ends,\n"
        "and by itself some seconds after this command was killed. Refused (exit 4) if somebody else has it; with\n"
        "--wait it stands in line. The exit code is that of the command, which finds CORRAL_LOCK_TOKEN in its\n"
        "environment: a number greater than that of every earlier holder. `corral lock ls` lists the locks."
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
