"""`corral keeper run`: the keeper process. The daemon starts it; a person has no need to."""

from corral.cli.command import INTEGER, Command, Invocation, Option


def run(invocation: Invocation) -> int:
    from corral.wiring import run_keeper

    shared = [invocation.text(name) for name in ("socket", "daemon", "workspaces")]
    return run_keeper(invocation.integer("ready-fd"), *shared)


RUN = Command(
    "keeper run",
    "run the keeper in the foreground",
    description="Drives this user's terminals and processes for the daemon, until it is told to end.",
    examples=(("corral keeper run", "what the daemon does to get its keeper"),),
    options=(
        Option("ready-fd", value="N", kind=INTEGER, summary="write a byte to this descriptor when ready", hidden=True),
        Option("socket", value="PATH", summary="listen here, on a shared server", hidden=True),
        Option("daemon", value="USER", summary="take calls from this user's daemon and from nobody else", hidden=True),
        Option("workspaces", value="DIR", summary="make worktrees here, on a shared server", hidden=True),
    ),
    run=run,
    hidden=True,
)

COMMAND = Command(
    "keeper",
    "run the keeper of this OS user",
    examples=(("corral keeper run", "what the daemon does to get its keeper"),),
    commands=(RUN,),
    hidden=True,
)
