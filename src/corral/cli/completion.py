"""`corral completion`: a script that teaches a shell the commands, from the command table."""

import sys

from corral.cli.command import Argument, Command, Invocation
from corral.cli.output import write_json


def run(invocation: Invocation) -> int:
    shell = invocation.word("SHELL")
    text = script(shell)
    if invocation.json:
        write_json({"shell": shell, "script": text})
    else:
        sys.stdout.write(text)
    return 0


def script(shell: str) -> str:
    """The completion script for `bash`, `zsh` or `fish`."""
    if shell == "bash":
        from corral.cli.completion_bash import render
    elif shell == "zsh":
        from corral.cli.completion_zsh import render
    else:
        from corral.cli.completion_fish import render
    return render()


COMMAND = Command(
    "completion",
    "print a completion script for your shell",
    description=(
        "The script completes commands, options, their values, the names of the agents that are up, and for\n"
        "corral up those that the file declares. It asks corral ps for the first, which starts nothing."
    ),
    examples=(
        ('eval "$(corral completion bash)"', "bash: put this line into ~/.bashrc"),
        ('eval "$(corral completion zsh)"', "zsh: put this line into ~/.zshrc, after compinit"),
        ("corral completion fish > ~/.config/fish/completions/corral.fish", "fish: once"),
    ),
    arguments=(Argument("SHELL", summary="the shell", choices=("bash", "zsh", "fish")),),
    run=run,
)
