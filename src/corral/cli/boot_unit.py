"""`corral daemon unit`: what has the service manager bring every team back after a reboot."""

import os

from corral.cli.command import Command, Invocation
from corral.cli.output import say, write_json
from corral.domain.unit_text import escaped, quoted
from corral.own_command import own_command
from corral.places import Places

NAME = "corral-boot.service"
#: Which instance is meant, and what it finds programs by.
_VARIABLES = ("CORRAL_HOME", "CORRAL_RUNTIME_DIR", "PATH")


def run(invocation: Invocation) -> int:
    text = unit(invocation.places, {name: os.environ[name] for name in _VARIABLES if name in os.environ})
    if invocation.json:
        write_json({"name": NAME, "unit": text})
    else:
        say(text.rstrip("\n"))
    return 0


def unit(places: Places, environment: dict[str, str]) -> str:
    """The text of a unit for the person's own service manager.

    It ends with `up`: daemon, keeper and agents have places of their own, and nothing of them ends with the unit. What
    it does is no sign of a person: a team that is alone is still alone after a reboot.
    """
    variables = [f'Environment="{name}={escaped(value)}"' for name, value in environment.items()]
    return "\n".join(
        [
            "[Unit]",
            f"Description=Bring back the teams of Corral below {places.home}",
            "",
            "[Service]",
            "Type=oneshot",
            "RemainAfterExit=yes",
            "KillMode=process",
            *variables,
            f"ExecStart={' '.join(quoted(word) for word in own_command('up', '--all', '--service'))}",
            "",
            "[Install]",
            "WantedBy=default.target",
            "",
        ]
    )


COMMAND = Command(
    "daemon unit",
    "print a systemd unit that brings the teams back after a reboot",
    description=(
        "For the service manager of your account, with the directories and the PATH of now. It runs\n"
        "corral up --all --service once your account's manager starts: at boot if loginctl enable-linger was said,\n"
        f"else when you log in. systemctl --user enable {NAME} has it do so from then on."
    ),
    examples=(
        (f"corral daemon unit > ~/.config/systemd/user/{NAME}", "write it where systemd looks for it"),
        ("corral daemon unit --json", "its name and its text, for a script"),
    ),
    run=run,
)
