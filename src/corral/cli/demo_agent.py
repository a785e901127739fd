"""`corral demo-agent`: the scripted agent of the demonstration and of the tests."""

from corral.cli.command import Argument, Command, Invocation
from corral.demo.script import LANGUAGE


def run(invocation: Invocation) -> int:
    from corral.demo.agent import main

    return main(invocation.words("MESSAGE"))


COMMAND = Command(
    "demo-agent",
    "play a coding agent, from a script and without a model",
    description=(
        "Behaves like a coding agent in a terminal, needs no key and spends nothing. It does every line of a\n"
        f"message that is one of these, in order:\n\n{LANGUAGE.rstrip()}"
    ),
    examples=(("corral demo-agent", "type a message, press Enter; ctrl-d ends it"),),
    arguments=(Argument("MESSAGE", summary="a first message", required=False, repeated=True),),
    run=run,
    hidden=True,
)
