"""`corral version`."""

from corral import __version__
from corral.cli.command import Command, Invocation
from corral.cli.output import say, write_json


def run(invocation: Invocation) -> int:
    if invocation.json:
        write_json({"version": __version__})
    else:
        say(f"corral {__version__}")
    return 0


COMMAND = Command(
    "version",
    "print the version",
    description="The version of this command. `corral daemon status` shows the one of the daemon that runs.",
    examples=(("corral version", "such as: corral 0.1.0"), ("corral version --json", 'such as: {"version": "0.1.0"}')),
    run=run,
)
