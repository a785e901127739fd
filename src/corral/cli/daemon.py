"""`corral daemon`: start it, stop it, look at it, run it."""

import os
import select
from contextlib import suppress

from corral.cli import boot_unit
from corral.cli.command import INTEGER, Command, Invocation, Option
from corral.cli.output import remark, say, write_json
from corral.cli.table import lines
from corral.client.absence import error_of_absence, how_to_start, how_to_start_again, nothing_is_up, unreachable_daemon
from corral.client.answers import Record, ask, ask_present_daemon
from corral.client.wire import DaemonAbsentError
from corral.domain.errors import NotFoundError, UnavailableError
from corral.places import Places

STOP_SECONDS = 10.0


def start(invocation: Invocation) -> int:
    started, health = _have_one(invocation.places)
    if invocation.json:
        write_json({"started": started, **health})
    else:
        say(f"the daemon {'runs' if started else 'was running already'}, pid {health.get('pid')}")
    return 0


def _have_one(places: Places) -> "tuple[bool, Record]":
    """Have a daemon that answers: whether it was started here, and what it says of itself."""
    from corral.client.start import ensure_daemon

    started = ensure_daemon(places)
    try:
        return started, ask_present_daemon(places, "GET", "/v1/health")
    except DaemonAbsentError:
        if started:
            raise error_of_absence(places) from None
    # The one that was there has ended before it was asked, or meanwhile.
    return ensure_daemon(places), ask(places, "GET", "/v1/health")


def stop(invocation: Invocation) -> int:
    places = invocation.places
    try:
        stopped = _stop_and_wait(places)
    except DaemonAbsentError:
        if unreachable_daemon(places) is not None:
            raise error_of_absence(places) from None
        stopped = False
    if invocation.json:
        write_json({"stopped": stopped})
    elif not stopped:
        say("the daemon is not running")
    else:
        say("the daemon has stopped" + ("" if nothing_is_up(places) else "; the agents stay up"))
        if places.of_host:
            remark(f"it starts again with: {how_to_start(places)}")
    return 0


def status(invocation: Invocation) -> int:
    try:
        health = ask_present_daemon(invocation.places, "GET", "/v1/health")
    except DaemonAbsentError:
        meaning = error_of_absence(invocation.places)
        if unreachable_daemon(invocation.places) is not None:
            raise meaning from None
        if invocation.json:
            write_json({"running": False})
        message = meaning.message if isinstance(meaning, UnavailableError) else "the daemon is not running"
        places = invocation.places
        remedy = how_to_start_again(places) if places.of_host else "corral daemon start, or corral up"
        raise NotFoundError(message, remedy) from None
    if invocation.json:
        write_json({"running": True, **health})
    else:
        for line in lines([[f"{key.replace('_', ' ')}:", _shown(value)] for key, value in health.items()]):
            say(line)
    return 0


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {one}" for name, one in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)


def run(invocation: Invocation) -> int:
    from corral.wiring import run_daemon

    return run_daemon(invocation.integer("ready-fd"), invocation.text("host"))


def _stop_and_wait(places: Places) -> bool:
    """Have the daemon end and wait until its process is gone; False if it was gone before it could be asked."""
    health = ask_present_daemon(places, "GET", "/v1/health")
    pid = health.get("pid")
    if not isinstance(pid, int):
        raise UnavailableError("the daemon does not say which process it is", "corral daemon status shows more")
    try:
        # Held before it is asked to end: a pid may be given away again, a descriptor of a process may not.
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        # It may end before it has answered, or somebody else may have asked it: only its end counts.
        with suppress(DaemonAbsentError, UnavailableError):
            ask_present_daemon(places, "POST", "/v1/daemon/stop")
        _wait_for_end(process, pid)
    finally:
        os.close(process)
    return True


def _wait_for_end(process: int, pid: int) -> None:
    poll = select.poll()
    poll.register(process, select.POLLIN)
    if not poll.poll(STOP_SECONDS * 1000):
        raise UnavailableError(
            f"the daemon (pid {pid}) was asked to stop and still runs after {STOP_SECONDS:g} s",
            f"daemon.log in CORRAL_HOME says what it does; kill {pid} ends it, the agents stay up",
        )


START = Command(
    "daemon start",
    "start the daemon, if it does not run",
    description="Returns when it takes requests. There is exactly one an instance, however often this is called.",
    examples=(("corral daemon start", "start it; it finds agents that were left running"),),
    run=start,
)
STOP = Command(
    "daemon stop",
    "stop the daemon; the agents stay up",
    description="Returns when its process is gone. Without a daemon it says so, and that is no error.",
    examples=(("corral daemon stop && corral daemon start", "take a new version into use"),),
    run=stop,
)
STATUS = Command(
    "daemon status",
    "show whether the daemon runs, and how it is",
    description="Exit code 0 if it runs and 3 if it does not. Never starts it.",
    examples=(
        ("corral daemon status", "pid, version, directories, teams"),
        ("corral daemon status --json | jq .running", "the same for programs"),
    ),
    run=status,
)
RUN = Command(
    "daemon run",
    "run the daemon in the foreground",
    description=(
        "For a service manager, or to watch it work. ctrl-c stops it; the agents stay up. Exit code 6 if its socket\n"
        "was removed: then it ends by itself, since nobody could reach it, and another one is to be started."
    ),
    examples=(
        ("corral daemon run", "run it here until ctrl-c"),
        ("corral daemon run --host corral-members", "what corral.service of a shared server does"),
    ),
    options=(
        Option("ready-fd", value="N", kind=INTEGER, summary="write a byte to this descriptor when ready", hidden=True),
        Option("host", value="GROUP", summary="be the daemon of a shared server, whose members are in GROUP"),
    ),
    run=run,
)

COMMAND = Command(
    "daemon",
    "start, stop or look at the daemon",
    description=(
        "The daemon decides what runs and keeps the journal. corral up starts it when it is needed, so these are\n"
        "for looking and for service managers. Stopping or killing it stops no agent: the next one finds them."
    ),
    examples=(("corral daemon status", "does it run?"), ("corral daemon stop", "stop it; the agents stay up")),
    commands=(START, STOP, STATUS, RUN, boot_unit.COMMAND),
)
