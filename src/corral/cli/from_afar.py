"""What does not work with `CORRAL_URL`, because it is about the machine that it is run on; loaded if that is set."""

from corral.cli.command import Command
from corral.domain.errors import WrongUseError

#: Commands, and groups of them, that look at files, processes or terminals of the host itself.
_OF_THE_HOST = (
    "attach", "audit key", "audit verify", "daemon run", "daemon start", "daemon stop", "doctor", "hook install",
    "hook uninstall", "host", "keeper", "mcp", "policy show", "up",
)  # fmt: skip


def must_work_from_afar(command: Command) -> None:
    """Refuse a command that would do something here, or nothing of use, instead of there."""
    if any(f"{command.name} ".startswith(f"{name} ") for name in _OF_THE_HOST):
        raise WrongUseError(
            f"corral {command.name} works on the host itself, and CORRAL_URL names another one",
            f"ssh to that host and run it there; or for this machine: env -u CORRAL_URL corral {command.name}",
        )
