"""Whom a word means as a recipient or a sender of messages.

A party is an agent, `TEAM/AGENT`, or a person, by the name of their OS user. People are written with an @, so that a
person and an agent of the same name are never taken for each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from corral.domain.errors import NotFoundError, WrongUseError

PERSON, ROLE, EVERYONE = "@", "role:", "all"
#: How many an error names: a team may have a thousand agents.
_MOST_NAMED = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Who there is."""

    #: Team → agent → its role: the name of its table in corral.toml.
    agents: Mapping[str, Mapping[str, str]]
    people: AbstractSet[str]
    #: Those of them that an error may name; without it, all.
    told: Callable[[], AbstractSet[str]] | None = None

    @property
    def shown_people(self) -> list[str]:
        """The people that an error names, as they are written."""
        return [shown(one) for one in sorted(self.people if self.told is None else self.told())]


def shown(party: str) -> str:
    """The party as it is written and read: `shop/api`, `@ann`."""
    return party if "/" in party else PERSON + party


def recipients(words: Sequence[str], *, sender: str, team: Callable[[], str], known: Known) -> list[str]:
    """All parties that the words mean, each once; if one of the words means nobody, `NotFoundError` with all of those.

    `team` is asked for where a word is about one and names none. A role, and everyone, are the others: not the sender.
    """
    found: dict[str, None] = {}
    nobody: list[str] = []
    for word in dict.fromkeys(words):
        parties = _meant(word, sender, team, known)
        if not parties:
            nobody.append(word)
        found.update(dict.fromkeys(parties))
    if nobody:
        raise _unknown(nobody, sender, words, team, known)
    return list(found)


def party(word: str, *, sender: str, team: Callable[[], str], known: Known) -> str:
    """The one party that a word means; `WrongUseError` for a word that may mean several, `NotFoundError` for nobody."""
    if word == EVERYONE or word.startswith(ROLE):
        raise WrongUseError(f"{word} may be several", "name one: AGENT, TEAM/AGENT or @PERSON")
    meant = _meant(word, sender, team, known)
    if not meant:
        there = [*_agents(_teams([word], team, known), sender, known), *known.shown_people]
        raise NotFoundError(f"there is nobody called {word}", f"there are: {_some(there)}", unknown=[word])
    return meant[0]


def _meant(word: str, sender: str, team: Callable[[], str], known: Known) -> list[str]:
    if word.startswith(PERSON):
        person = word.removeprefix(PERSON)
        return [person] if person in known.people else []
    if word == EVERYONE or word.startswith(ROLE):
        here = team()
        role = None if word == EVERYONE else word.removeprefix(ROLE)
        agents = known.agents.get(here, {})
        parties = [f"{here}/{agent}" for agent, of in agents.items() if role is None or role == of]
        return [one for one in parties if one != sender]
    named, slash, agent = word.rpartition("/")
    of_team = named if slash else team()
    return [f"{of_team}/{agent}"] if agent in known.agents.get(of_team, {}) else []


def _unknown(
    nobody: Sequence[str], sender: str, words: Sequence[str], team: Callable[[], str], known: Known
) -> NotFoundError:
    teams = _teams(words, team, known)
    roles = dict.fromkeys(ROLE + role for one in teams for role in known.agents.get(one, {}).values())
    agents, people = _agents(teams, sender, known), known.shown_people
    # No name has a space in it: that is the message.
    text = "the message itself is given with --message (-m); " if any(len(word.split()) > 1 for word in nobody) else ""
    return NotFoundError(
        f"there is nobody to write to as {', '.join(nobody)}; nothing was sent",
        f"{text}there are: {_some([*agents, *roles, *people])}",
        unknown=list(nobody),
    )


def _teams(words: Sequence[str], team: Callable[[], str], known: Known) -> list[str]:
    """The teams that the words can be about."""
    needs_team = any(not word.startswith(PERSON) and "/" not in word for word in words)
    return [team()] if needs_team else sorted(known.agents)


def _agents(teams: Sequence[str], sender: str, known: Known) -> list[str]:
    there = (f"{one}/{agent}" for one in teams for agent in known.agents.get(one, {}))
    return [one for one in there if one != sender]


def _some(choices: Sequence[str]) -> str:
    more = f" and {len(choices) - _MOST_NAMED} more" if len(choices) > _MOST_NAMED else ""
    return f"{', '.join(choices[:_MOST_NAMED]) or 'none'}{more}"
