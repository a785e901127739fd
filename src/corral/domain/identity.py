"""Who a caller is: a person, an agent that proves it, one that only says so, or nobody who is to be listened to. Pure.

Two things prove an agent: the credential of its run, and where the process that asks is, which the kernel says: in the
cgroup of that run, or started by what is. On a shared server nothing less counts, and nothing of an agent's is ever
taken for a person. In an instance of one person a name is taken at its word, as between programs of one user it has to
be (ADR 26).

What a user's service manager runs is neither: whoever may speak to that manager can have it start something, and so can
an agent that runs as its developer. It is the person only if a log-in is behind it (ADR 30).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from corral.domain.credentials import Names

Kind = Literal["person", "proved", "claimed", "refused", "unit"]
#: Nothing speaks for an agent.
PERSON: Kind = "person"
#: An agent, by its credential and by where it is.
PROVED: Kind = "proved"
#: An agent by its word. Never on a shared server.
CLAIMED: Kind = "claimed"
#: Neither can be believed.
REFUSED: Kind = "refused"
#: Something that a user's service manager runs, and nobody who logged in: an agent could have had it started.
UNIT: Kind = "unit"
#: Those of whom nothing is done.
NOT_HEARD = (REFUSED, UNIT)

#: Where systemd puts who logs in. It is root's: nothing of a user's can move there.
_LOGIN = re.compile(r"/user\.slice/user-(\d+)\.slice/session-[^/]+\.scope(?:/.*)?")
#: The service manager of a user. All below it is that user's: to make cgroups, and to move processes between them.
_MANAGER = ("user@", ".service")
#: So the names of all cgroups begin that Corral makes, whichever instance: units at the level of systemd, and others.
_CORRALS = ("corral-", "corral.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """Who asks."""

    kind: Kind
    #: TEAM/AGENT, if it is an agent. Of what is refused: the agent that it has to do with, if that is known.
    agent: str = ""
    #: The run that it is of, if that is proved.
    run: str = ""
    #: Why it is refused, or why an agent that has a credential is taken at its word.
    why: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What a caller shows of itself."""

    uid: int
    #: The agent, TEAM/AGENT, that it says it is; empty for none.
    claim: str = ""
    #: There is such an agent.
    is_known: bool = True
    #: It shows a credential, and what that says; None of one that says nothing that can be read.
    shows: bool = False
    names: Names | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Holder:
    """The agent that a credential names, as the daemon knows it."""

    #: The credential is the one that its present run was given.
    fits: bool
    live: bool
    uid: int
    #: The cgroup of its run; empty if it has none, or it is not known.
    cgroup: str


#: The cgroups of a process and of what it descends from, the nearest first. None: it has ended, or cannot be seen.
Lineage = Sequence[str] | None


def decide(
    asked: Asked,
    holder: Holder | None,
    lineage: Lineage,
    places: Mapping[str, str],
    *,
    instance: str,
    shared: bool,
    trust_user_units: bool = False,
) -> Identity:
    """Who asks. `places` are the cgroups of agents, each with its TEAM/AGENT.

    `holder` is the agent that the credential names, if it does and there is one. With `trust_user_units` what a user's
    service manager runs is taken for that user.
    """
    if asked.shows and (asked.names is None or asked.names.instance == instance):
        return _with_credential(asked, holder, lineage, places, shared=shared)
    # Without one, or with that of another instance, which is none here.
    if not shared:
        return Identity(kind=CLAIMED, agent=asked.claim) if asked.claim else Identity(kind=PERSON)
    if lineage is None:
        return _refused("by a process that has ended, or that cannot be seen from here: nobody can tell whose it is")
    if found := inside(lineage, places):
        return _refused(f"from within {found}, without its credential", found)
    if any(map(is_corrals, lineage)):
        return _refused("from within something that Corral started")
    if asked.claim:
        # What somebody made up is not repeated: journals would have it. Nor is it told whether there is such an agent.
        return _refused(
            "in the name of an agent, from outside of it and without its credential",
            asked.claim if asked.is_known else "",
        )
    if not trust_user_units and is_of_manager(lineage):
        # No word of which unit: whoever chose its name could fill the journal with refusals that are each another.
        return Identity(kind=UNIT, why="by something that a user's service manager runs, and no log-in is behind it")
    return Identity(kind=PERSON)


def _with_credential(
    asked: Asked, holder: Holder | None, lineage: Lineage, places: Mapping[str, str], *, shared: bool
) -> Identity:
    names = asked.names
    if names is None:
        return _refused("with a credential that is none")
    agent = f"{names.team}/{names.agent}"
    if holder is None or not holder.fits:
        return _refused("with a credential that its agent does not have, or has no more", agent if holder else "")
    # Who gets through the door of a single person is that person, or root: in an agent, by sudo.
    if shared and asked.uid != holder.uid:
        return _refused(f"with the credential of {agent}, by another user than the one it runs as", agent)
    if asked.claim not in ("", agent):
        return _refused(f"in the name of another agent, with the credential of {agent}", agent)
    # The nearest: what an agent has started may have started others in their turn.
    found = inside(lineage or (), places)
    if found == agent and holder.live:
        return Identity(kind=PROVED, agent=agent, run=names.run)
    if found not in ("", agent):
        return _refused(f"with the credential of {agent}, from within {found}", agent)
    if not holder.live:
        # Commands of an agent outlive its runs.
        why = "the run that it was given to has ended"
    elif lineage is None:
        why = "the process has ended, or cannot be seen from here"
    elif not holder.cgroup:
        why = f"{agent} has no cgroup to be known by"
    else:
        why = "the process is outside of that agent's cgroup"
    if shared:
        return _refused(f"with the credential of {agent}, which does not prove it: {why}", agent)
    return Identity(kind=CLAIMED, agent=agent, why=why)


def _refused(how: str, agent: str = "") -> Identity:
    return Identity(kind=REFUSED, agent=agent, why=how)


def inside(lineage: Sequence[str], places: Mapping[str, str]) -> str:
    """The agent, TEAM/AGENT, in whose cgroup the nearest of these is; empty if none is in any."""
    for place in lineage:
        while len(place) > 1:
            if found := places.get(place):
                return found
            place = place.rpartition("/")[0]
    return ""


def is_within(cgroup: str, top: str) -> bool:
    """True if the cgroup is `top`, or in it."""
    return cgroup == top or cgroup.startswith(top + "/")


def is_corrals(cgroup: str) -> bool:
    """True if it is in one that has a name as Corral gives it, or as an agent would choose to look like Corral."""
    return any(name.startswith(_CORRALS) for name in cgroup.split("/"))


def is_login(cgroup: str, uid: int) -> bool:
    """True for the session of somebody who logged in: whoever is there was not put there by an agent."""
    found = _LOGIN.fullmatch(cgroup)
    return found is not None and int(found[1]) == uid


def is_of_manager(lineage: Sequence[str]) -> bool:
    """True for what a user's service manager runs, unless it descends from somebody who logged in.

    A tmux that knows systemd puts each pane below the manager, and starts it itself, from the session that it was
    started in. Nothing can give itself another parent than the one that started it, or who takes orphans.
    """
    begin, end = _MANAGER
    own = lineage[0].split("/")
    return any(name.startswith(begin) and name.endswith(end) for name in own) and not any(
        map(_LOGIN.fullmatch, lineage)
    )


def place_of_run(reported: str, uid: int, *, shared: bool) -> str:
    """The cgroup of a run that a keeper reported, if it may be that; else empty.

    On a shared server keepers are run by their users. So a cgroup counts only below the manager of that very user:
    nobody can have others taken for an agent.
    """
    if not reported.startswith("/") or len(reported) < 2 or reported.endswith("/"):
        return ""
    own = f"/user.slice/user-{uid}.slice/user@{uid}.service/"
    return reported if not shared or reported.startswith(own) else ""
