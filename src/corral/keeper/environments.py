"""The environment of an agent that is like another's."""

from __future__ import annotations

from collections.abc import Mapping

from corral.domain.port_blocks import BLOCK_VARIABLE, PORT_VARIABLE


def like(theirs: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """What another agent has, but for what is its own: its name, its ports."""
    declared = theirs.get(PORT_VARIABLE) != theirs.get(BLOCK_VARIABLE, "").partition("-")[0]
    # A port that a person declared is the very one that is wanted.
    return {**theirs, **{name: value for name, value in own.items() if not (declared and name == PORT_VARIABLE)}}
