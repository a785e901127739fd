"""The `[merge]` table of a `corral.toml`: the branch that the merge queue moves, and what must hold before it does."""

from collections.abc import Mapping

from corral.domain.merge_rules import DEFAULT_MERGE_RULES, MERGE_RULE_NAMES, MergeRules
from corral.domain.spec_durations import read_duration, shown_duration
from corral.domain.spec_table import Table, type_word

#: What other words there are for these keys.
ALIASES = {
    "base": "target", "branch": "target", "into": "target", "main": "target", "trunk": "target",
    "check": "gates", "checks": "gates", "command": "gates", "commands": "gates", "gate": "gates", "test": "gates",
    "tests": "gates",
    "gate_timeout": "timeout", "time_limit": "timeout", "time_out": "timeout",
    "at_once": "batch", "batch_size": "batch", "max_batch": "batch", "most": "batch",
}  # fmt: skip
_TARGET_EXAMPLE = 'target = "main"'
_GATES_EXAMPLE = 'gates = ["make test"]'
_TIMEOUT_EXAMPLE = f'timeout = "{shown_duration(DEFAULT_MERGE_RULES.timeout)}"'
_BATCH_EXAMPLE = f"batch = {DEFAULT_MERGE_RULES.batch}"
_MOST_GATES, _LONGEST_GATE, _LONGEST_TARGET, _LARGEST_BATCH = 32, 8192, 200, 64
_SHORTEST, _LONGEST = 1.0, 86400.0


def read_merge_rules(root: Table, elsewhere: Mapping[str, str], *, has_repo: bool) -> MergeRules:
    """What the table says, and the defaults for the rest. `elsewhere` says where keys belong that it does not take."""
    table = root.table("merge", f"[merge] with {_GATES_EXAMPLE}")
    if table is None:
        return DEFAULT_MERGE_RULES
    table.only(MERGE_RULE_NAMES, ALIASES, elsewhere)
    if not has_repo:
        root.wrong("merge", "a team without a repository has nothing to merge", 'add repo = "." to [team]')
    timeout = (
        read_duration(table, "timeout", _TIMEOUT_EXAMPLE, least=_SHORTEST, most=_LONGEST)
        if "timeout" in table.data
        else None
    )
    return MergeRules(
        target=_target(table),
        gates=_gates(table),
        timeout=timeout or DEFAULT_MERGE_RULES.timeout,
        batch=_batch(table),
    )


def _target(table: Table) -> str:
    target = (table.take("target", str, _TARGET_EXAMPLE) or "").removeprefix("refs/heads/")
    if "target" in table.data and isinstance(table.data["target"], str) and not can_be_a_branch(target):
        table.wrong("target", "this cannot be the name of a branch", f"such as {_TARGET_EXAMPLE}")
        return ""
    return target


def can_be_a_branch(name: str) -> bool:
    """False for what git would take for something else, or could never be called so; git has the last word."""
    return (
        0 < len(name.encode("utf-8", "surrogateescape")) <= _LONGEST_TARGET
        and name.isprintable()
        and not name.startswith(("-", "/", "."))
        and not name.endswith(("/", ".", ".lock"))
        and not any(part in name for part in ("..", "//", "@{", "/.", " ", "~", "^", ":", "?", "*", "[", "\\"))
        and name not in ("@", "HEAD")
    )


def why_never_a_branch(name: str) -> str:
    """Of one that `can_be_a_branch` is false for: why it is no branch here, in words that follow its name."""
    if len(name.encode("utf-8", "surrogateescape")) > _LONGEST_TARGET:
        return f"is longer than the {_LONGEST_TARGET} bytes that the name of a branch may have here: git branch -m NAME"
    if any("\udc80" <= letter <= "\udcff" for letter in name):
        return "has bytes in it that are no UTF-8, and cannot be submitted: git branch -m NAME gives it another name"
    return "cannot be the name of a branch"


def _gates(table: Table) -> tuple[str, ...]:
    said = table.take("gates", list, _GATES_EXAMPLE)
    found: list[str] = []
    for number, gate in enumerate(said or (), 1):
        if not isinstance(gate, str):
            message = f"gate {number} must be a string, not {type_word(type(gate))}"
            table.wrong("gates", message, f"a gate is a command for a shell: {_GATES_EXAMPLE}")
            return ()
        if not gate.strip() or "\0" in gate or len(gate) > _LONGEST_GATE:
            message = f"gate {number} is empty, or longer than {_LONGEST_GATE} characters"
            table.wrong("gates", message, f"a gate is a command for a shell: {_GATES_EXAMPLE}")
            return ()
        found.append(gate)
    if len(found) > _MOST_GATES:
        table.wrong("gates", f"these are {len(found)} gates, and {_MOST_GATES} are the most", "put some into a script")
        return ()
    return tuple(found)


def _batch(table: Table) -> int:
    batch = table.take("batch", int, _BATCH_EXAMPLE)
    if batch is None:
        return DEFAULT_MERGE_RULES.batch
    if not 1 <= batch <= _LARGEST_BATCH:
        table.wrong("batch", "this is out of range", f"a number from 1 to {_LARGEST_BATCH}, such as {_BATCH_EXAMPLE}")
        return DEFAULT_MERGE_RULES.batch
    return batch
