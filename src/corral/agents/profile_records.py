"""Reading rules for the records of a program (`domain.told_records`) from its profile. Pure."""

from __future__ import annotations

from corral.domain.activity import IDLE, WORKING
from corral.domain.spec_problems import one_of
from corral.domain.spec_table import Table
from corral.domain.told_records import RecordRule, Value

_SAYS = (WORKING, IDLE)
_MOST_RULES = 20
_EXAMPLE = 'where = { type = "result" }'


def record_rules(table: Table, key: str) -> tuple[RecordRule, ...]:
    """The rules that an array of tables holds; none if it is not there."""
    found = table.take(key, list, f'[[…{key}]] with says = "idle" and {_EXAMPLE}') or []
    if len(found) > _MOST_RULES:
        table.wrong(key, f"there are {len(found)} rules", f"at most {_MOST_RULES} can be gone through")
        return ()
    rules = []
    for number, entry in enumerate(found, 1):
        if isinstance(entry, dict):
            rules.append(_rule(Table(table.problems, (*table.path, key), entry), number))
        else:
            table.wrong(key, f"entry {number} is no table", f'such as says = "idle" and {_EXAMPLE}')
    return tuple(rules)


def _rule(table: Table, number: int) -> RecordRule:
    table.only(("says", "where"))
    says = table.data.get("says")
    if says not in _SAYS:
        table.wrong("says", f"rule {number}: this is not what a record can say", f"it is {one_of(_SAYS)}")
    where = table.need("where", dict, _EXAMPLE) or {}
    if "where" in table.data and not where:
        table.wrong("where", f"rule {number}: nothing says when it fits", f"such as {_EXAMPLE}")
    members = []
    for name, wanted in where.items():
        values = tuple(value for value in _listed(wanted) if isinstance(value, str | bool))
        if not values or len(values) != len(_listed(wanted)):
            table.wrong(
                "where", f"rule {number}: {name} is no string or boolean, nor some of them", f"such as {_EXAMPLE}"
            )
        members.append((name, values))
    return RecordRule(says=str(says), where=tuple(members))


def _listed(wanted: object) -> list[Value | object]:
    return list(wanted) if isinstance(wanted, list) else [wanted]
