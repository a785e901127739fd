"""What an engine and whoever asks it say to each other: a JSON document a line."""

from __future__ import annotations

import msgspec

from corral.adapters.policy.sources import Module

#: What a host lacks on which rego-cpp cannot be loaded.
NEEDS = "it needs libatomic: on Debian and Ubuntu, apt-get install libatomic1"


class Load(msgspec.Struct):
    """A policy."""

    modules: list[Module]
    data: dict[str, object]
    entry_points: list[str]


class Loaded(msgspec.Struct):
    """It is compiled; or why it is not."""

    problem: str = ""
    remedy: str = ""


class Ask(msgspec.Struct):
    """A question."""

    path: str
    document: object


class Answered(msgspec.Struct):
    """The answer; or why there is none."""

    value: object = None
    failure: str = ""
