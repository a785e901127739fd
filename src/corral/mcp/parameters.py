"""The parameters of tools: what a model is told of each, and the check of what it gave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from corral.domain.errors import WrongUseError
from corral.domain.spec_problems import did_you_mean

# Kinds of values.
TEXT = "text"
FLAG = "flag"
NUMBER = "number"
WHOLE_NUMBER = "whole number"
WORDS = "words"
VARIABLES = "variables"
REVISIONS = "revisions"

#: kind → its schema, and what it is in words.
_KINDS: Mapping[str, tuple[Mapping[str, object], str]] = {
    TEXT: ({"type": "string"}, "a string"),
    FLAG: ({"type": "boolean"}, "true or false"),
    NUMBER: ({"type": "number"}, "a number"),
    WHOLE_NUMBER: ({"type": "integer"}, "a whole number"),
    WORDS: ({"type": "array", "items": {"type": "string"}}, "a list of strings"),
    VARIABLES: ({"type": "object", "additionalProperties": {"type": "string"}}, "an object with strings as values"),
    REVISIONS: (
        {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}},
        "an object with whole numbers from 0 on as values",
    ),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameter:
    """One parameter of a tool."""

    name: str
    kind: str
    #: Written for a model: what it is for, and what happens without it.
    about: str
    required: bool = False
    #: What holds where it is not given; None for nothing.
    default: object = None
    #: The smallest and the largest number that is taken.
    least: float | None = None
    most: float | None = None

    @property
    def schema(self) -> dict[str, object]:
        """Its JSON schema."""
        bounds = {"minimum": self.least, "maximum": self.most, "default": self.default}
        kind, _ = _KINDS[self.kind]
        return {**kind, "description": self.about} | {key: value for key, value in bounds.items() if value is not None}


def schema_of(parameters: Sequence[Parameter]) -> dict[str, object]:
    """The JSON schema of the arguments of a tool."""
    return {
        "type": "object",
        "properties": {parameter.name: parameter.schema for parameter in parameters},
        "required": [parameter.name for parameter in parameters if parameter.required],
        "additionalProperties": False,
    }


def checked(tool: str, parameters: Sequence[Parameter], given: Mapping[str, object]) -> dict[str, object]:
    """What was given, with the defaults; `WrongUseError` with what would be right if it does not fit.

    null counts as not given: some models name every parameter that there is.
    """
    names = [parameter.name for parameter in parameters]
    for name in given:
        if name not in names:
            meant = did_you_mean(name, names)
            remedy = f"did you mean {meant}? " if meant else ""
            raise WrongUseError(f"{tool} has no parameter {name!r}", f"{remedy}It takes {', '.join(names) or 'none'}")
    values: dict[str, object] = {}
    for parameter in parameters:
        value = given.get(parameter.name)
        if value is not None:
            values[parameter.name] = _value(tool, parameter, value)
        elif parameter.required:
            raise WrongUseError(f"{tool} needs {parameter.name}", parameter.about)
        elif parameter.default is not None:
            values[parameter.name] = parameter.default
    return values


def _value(tool: str, parameter: Parameter, value: object) -> object:
    if parameter.kind == WHOLE_NUMBER and isinstance(value, float) and value.is_integer():
        value = int(value)  # JSON has but one kind of numbers
    if not _fits(parameter.kind, value):
        raise WrongUseError(f"{tool}: {parameter.name} must be {_KINDS[parameter.kind][1]}", parameter.about)
    if isinstance(value, int | float) and not isinstance(value, bool):
        if parameter.least is not None and value < parameter.least:
            raise WrongUseError(f"{tool}: {parameter.name} must be {parameter.least:g} or more", parameter.about)
        if parameter.most is not None and value > parameter.most:
            raise WrongUseError(f"{tool}: {parameter.name} must be {parameter.most:g} or less", parameter.about)
    return value


def _fits(kind: str, value: object) -> bool:
    if kind == TEXT:
        return isinstance(value, str)
    if kind == FLAG:
        return isinstance(value, bool)
    if kind == WORDS:
        return isinstance(value, list) and all(isinstance(word, str) for word in value)
    if kind == VARIABLES:
        return isinstance(value, dict) and all(isinstance(word, str) for word in value.values())
    if kind == REVISIONS:
        return isinstance(value, dict) and all(type(number) is int and number >= 0 for number in value.values())
    return isinstance(value, int if kind == WHOLE_NUMBER else int | float) and not isinstance(value, bool)
