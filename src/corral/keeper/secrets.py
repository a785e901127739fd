"""What nobody is to read in the records of a team: the credentials of its agents, and what its file gives them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from corral.domain.credentials import FILE_VARIABLE, names_in, open_letters
from corral.domain.masking import Masker

#: Of a value that the file declares, so much may be shown by somebody who prints it letter by letter. A log is read
#: while it is written: what comes must not wait for the rest of a word that only begins like one.
_OPEN_LETTERS = 3


class TeamSecrets:
    """The secrets of the agents of one team, as they are now."""

    def __init__(
        self, environment_of: Callable[[str], Mapping[str, str] | None], credential_of: Callable[[str], str]
    ) -> None:
        self._environment_of = environment_of
        self._credential_of = credential_of
        #: By agent, the variables whose values are secrets.
        self.names: Mapping[str, Sequence[str]] = {}

    def of(self, agent: str) -> dict[str, str]:
        """By variable, what is to be masked in the records of an agent."""
        environment = (self._environment_of(agent) or {}) if self.names.get(agent) else {}
        found = {name: environment[name] for name in self.names.get(agent, ()) if environment.get(name)}
        if credential := self._credential_of(agent):
            found[FILE_VARIABLE] = credential
        return found

    def masker(self, agent: str) -> Masker:
        """For output that is read while it comes."""
        return Masker(self.of(agent).values(), _may_show)


def masked_text(text: str, secrets: Mapping[str, str]) -> str:
    """A text that is whole, without the secrets."""
    masker = Masker(secrets.values())
    data = masker.feed(text.encode("utf-8", "surrogateescape")) + masker.finish()
    return data.decode("utf-8", "surrogateescape")


def _may_show(value: str) -> int:
    return open_letters(value) if names_in(value) is not None else _OPEN_LETTERS
