"""`[recording]` of an instance's `config.toml`: what holds for teams that say nothing, or for all of them. Pure."""

from __future__ import annotations

from corral.domain.recording import RECORDING_NAMES, Recording, RecordingTerms, default_terms
from corral.domain.spec_problems import Problems
from corral.domain.spec_recording import ALIASES, ON_EXAMPLE, keep_of, size_of
from corral.domain.spec_syntax import load
from corral.domain.spec_table import Table


def read_terms(file: str, text: str, *, shared: bool) -> RecordingTerms:
    """The terms that the text of a `config.toml` sets. `BadSpecError` tells of all that is wrong below `[recording]`.

    Other tables of the file are for others to read.
    """
    problems = Problems(file, text)
    table = Table(problems, (), load(text, file)).table("recording", f"[recording] with {ON_EXAMPLE}")
    if table is None:
        problems.raise_if_any()
        return default_terms(shared=shared)
    table.only((*RECORDING_NAMES, "required"), {**ALIASES, "require": "required", "force": "required"})
    on = table.take("on", bool, ON_EXAMPLE)
    required = table.take("required", bool, "required = true")
    terms = RecordingTerms(
        default=Recording(on=True if on is None else on, keep=keep_of(table), max_size=size_of(table)),
        required=bool(required),
    )
    problems.raise_if_any()
    return terms
