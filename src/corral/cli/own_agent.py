"""In whose name a command asks if its command line names nobody: what `CORRAL_AGENT` means."""

import os

from corral.cli.targets import agent_and_team, here
from corral.client.absence import error_of_absence
from corral.client.answers import ask_unparsed, raise_refusal
from corral.client.wire import DaemonAbsentError, request, speak_for, target
from corral.domain.errors import NotFoundError, WrongUseError
from corral.places import Places


def named_agent() -> tuple[str | None, str | None]:
    """The team and the agent that `CORRAL_AGENT` (AGENT or TEAM/AGENT) and `CORRAL_TEAM` name; nobody is asked."""
    team, agent = os.environ.get("CORRAL_TEAM") or None, os.environ.get("CORRAL_AGENT") or None
    try:
        return agent_and_team(team, agent)
    except WrongUseError as error:
        raise WrongUseError(
            f"CORRAL_AGENT: {error.message}",
            "set it to AGENT or TEAM/AGENT, of the team that CORRAL_TEAM names if that is set; or unset it",
        ) from None


def own_agent(places: Places) -> tuple[str | None, str | None]:
    """The team and the agent that this command asks for by its environment: both, or neither.

    Neither if `CORRAL_AGENT` is not set, or is of another instance than the one that is asked. An agent that is named
    and does not exist is an error. From then on, all requests of this process are in the name of whom this returned.
    """
    if not os.environ.get("CORRAL_AGENT"):
        return None, None
    instance = os.environ.get("CORRAL_INSTANCE")
    # In an agent of one instance, somebody may well talk to another one. Outside of agents, the variable is not set.
    # Looked for, and not parsed: a parser takes longer to load than the daemon to answer.
    if instance and f'"instance":"{instance}"'.encode() not in ask_unparsed(places, "GET", "/v1/health"):
        speak_for("")
        return None, None
    team, agent = _found(places, *named_agent())
    speak_for(f"{team}/{agent}")
    return team, agent


def _found(places: Places, team: str | None, agent: str | None) -> tuple[str, str]:
    """The agent that there is. Its team is not always named."""
    about = target("/v1/agents", [("team", team), ("agent", agent), ("cwd", here())])
    try:
        # As columns, for the same reason.
        response = request(places, "GET", about, headers=(("Accept", "text/tab-separated-values"),))
    except DaemonAbsentError:
        raise error_of_absence(places) from None
    try:
        raise_refusal(response)
    except NotFoundError as error:
        raise NotFoundError(
            f"CORRAL_AGENT is {os.environ['CORRAL_AGENT']}: {error.message}",
            "unset CORRAL_AGENT, or name an agent with --agent; corral ps shows those there are",
        ) from None
    except WrongUseError as error:
        raise WrongUseError(
            f"CORRAL_AGENT is {os.environ['CORRAL_AGENT']}: {error.message}", "set it to TEAM/AGENT, or unset it"
        ) from None
    found = response.body.decode().split("\t", 2)
    return found[0], found[1]
