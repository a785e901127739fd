"""Which team a command line means. In an agent it is the agent's own, unless another one is named."""

from corral.cli.command import Invocation
from corral.cli.proc_targets import Whose, own_agent


def of_team(invocation: Invocation) -> Whose:
    """Whom `--team` names; in an agent, its team if it names nobody."""
    team = invocation.text("team")
    if team is None:
        team, _ = own_agent(invocation.places)
    return Whose(invocation.places, team, None)
