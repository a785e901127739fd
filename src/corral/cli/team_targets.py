"""Which team a command line means. In an agent it is the agent's own, unless another one is named."""

from corral.cli.command import Invocation
from corral.cli.own_agent import own_agent
from corral.cli.proc_targets import Whose


def of_team(invocation: Invocation) -> Whose:
    """Whom `--team` names; if it names nobody, the team of the agent that `CORRAL_AGENT` names.

    That agent is who asks in either case: `--team` alone does not make it speak as a person.
    """
    own, _ = own_agent(invocation.places)
    return Whose(invocation.places, invocation.text("team") or own, None)
