"""What terminals are shown is text, whatever an agent had in mind with it."""

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest

from corral.adapters.tmux.control import ControlClient
from corral.adapters.tmux.ringing import ring_clients

_LONGEST = 200


class _Tmux:
    """Has one person attached, and a client of Corral's own; remembers what it was told to do."""

    def __init__(self) -> None:
        self.told: list[list[str]] = []

    async def ask(self, *commands: Sequence[str]) -> list[list[str]]:
        assert [command[0] for command in commands] == ["list-clients"]
        return [["1 hub /dev/nowhere", "0 /dev/pts/99 /dev/nowhere"]]

    async def try_many(self, groups: Sequence[Sequence[Sequence[str]]]) -> None:
        self.told += [list(command) for group in groups for command in group]


def shown(text: str) -> str:
    """The format that tmux is given for a text."""
    tmux = _Tmux()
    assert asyncio.run(ring_clients(cast(ControlClient, tmux), text)) == 0, "there is no such terminal"
    (command,) = tmux.told
    assert command[:5] == ["display-message", "-c", "/dev/pts/99", "-d", "8000"]
    return command[5]


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("shop/a waits for you: #(touch owned)", "shop/a waits for you: ##(touch owned)"),
        ("#{pane_id} #[fg=red] #S", "##{pane_id} ##[fg=red] ##S"),
        # Two of them are one for tmux: an odd number must not come to be one by that.
        ("##(touch owned)", "####(touch owned)"),
        # It reads them as a time first, in which `#` is a flag that would be taken away.
        ("50% done at %H:%M, %#(touch owned)", "50%% done at %%H:%%M, %%##(touch owned)"),
    ],
)
def test_nothing_of_it_is_a_format_or_a_time(text: str, given: str) -> None:
    assert shown(text) == given


def test_what_is_cut_off_leaves_no_format_either() -> None:
    given = shown("#(" + "#" * _LONGEST)
    assert len(given) == _LONGEST
    # All that comes before anything else is in pairs; one that is left alone is at the very end.
    assert given[:3] == "##("
    assert set(given[3:]) == {"#"}
