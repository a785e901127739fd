"""The built-ins that rules of a host may use: those that answer here as they do in OPA, also when they fail.

`tests/conformance/policy/test_builtins.py` holds each of them against a real OPA, with values of every kind. One that
is not here is refused when the policy is read: an engine that lacks it, or that answers otherwise, would leave out what
a rule forbids without a word.
"""

from __future__ import annotations

#: Operators, by the names that the engine has for them.
_OPERATORS = {"and", "or", "plus", "minus", "neq", "internal.member_2", "internal.member_3"}
#: These order two numbers as OPA does; anything else they do not (docs/howto/policy.md).
ORDERING = frozenset({"lt", "lte", "gt", "gte"})
#: It says nothing in an answer.
_SILENT = {"internal.print"}
#: What it says nobody can foresee.
CLOCK = "time.now_ns"

PROVED = frozenset(
    _OPERATORS
    | {"concat", "contains", "endswith", "split", "startswith", "substring"}
    | {"strings.any_prefix_match", "strings.any_suffix_match", "strings.count", "strings.reverse"}
    | {"trim", "trim_left", "trim_prefix", "trim_right", "trim_space", "trim_suffix"}
    | {"array.concat", "array.reverse", "count", "intersection", "numbers.range", "union"}
    | {"object.filter", "object.get", "object.keys", "object.remove"}
    | {"is_array", "is_boolean", "is_null", "is_number", "is_object", "is_set", "is_string", "type_name"}
    | {"time.clock", "time.date", "time.weekday"}
)
USABLE = PROVED | ORDERING | _SILENT | {CLOCK}
#: What ships orders the names of rules with it, to tell of one of those that hold. Numbers it orders as texts.
OF_WHAT_SHIPS = frozenset({"min"})

#: How those are written that have no name in a rule.
WRITTEN = {"div": "/", "mul": "*", "rem": "%", "internal.template_string": '$"…"'}
_LIST = "docs/howto/policy.md lists what rules may use"
_INSTEAD = {
    "sprintf": "put texts together with concat",
    "format_int": "put texts together with concat",
    "internal.template_string": "put texts together with concat",
    "min": "it orders numbers as texts; compare two at a time with <",
    "max": "it orders numbers as texts; compare two at a time with <",
    "sort": "it orders numbers as texts; compare two at a time with <",
    "glob.match": "use startswith, endswith or contains",
    "regex.match": "use startswith, endswith or contains",
}


def may_use(function: str, *, ships: bool) -> bool:
    """Whether a rule may call it; `ships` is for rules that come with Corral."""
    return function in USABLE or (ships and function in OF_WHAT_SHIPS)


def remedy(function: str) -> str:
    """What to do in the place of calling one that may not be called."""
    instead = _INSTEAD.get(function)
    return f"{instead}; {_LIST}" if instead else _LIST
