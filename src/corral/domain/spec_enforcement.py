"""The `[enforcement]` table of a `corral.toml`: where leases bite, and what happens when nobody can tell."""

from collections.abc import Mapping

from corral.domain.enforcement import ALLOW, ANSWERS, DEFAULT_ENFORCEMENT, DENY, ENFORCEMENT_NAMES, Enforcement
from corral.domain.spec_table import Table

#: What other words there are for these keys, and for their values.
ALIASES = {
    "commits": "worktrees", "git": "worktrees", "git_hooks": "worktrees", "hooks": "worktrees", "worktree": "worktrees",
    "daemon": "unreachable", "fail": "unreachable", "offline": "unreachable", "unavailable": "unreachable",
    "git_stash": "stash",
    "main": "target", "trunk": "target", "protect": "target",
}  # fmt: skip
_ANSWER_ALIASES = {
    "block": DENY, "closed": DENY, "forbid": DENY, "no": DENY, "refuse": DENY, "reject": DENY,
    "accept": ALLOW, "open": ALLOW, "pass": ALLOW, "permit": ALLOW, "warn": ALLOW, "yes": ALLOW,
}  # fmt: skip


def read_enforcement(root: Table, elsewhere: Mapping[str, str]) -> Enforcement:
    """What the table says, and the defaults for the rest. `elsewhere` says where keys belong that it does not take."""
    table = root.table("enforcement", '[enforcement] with unreachable = "deny"')
    if table is None:
        return DEFAULT_ENFORCEMENT
    table.only(ENFORCEMENT_NAMES, ALIASES, elsewhere)
    worktrees = table.take("worktrees", bool, "worktrees = true")
    return Enforcement(
        worktrees=DEFAULT_ENFORCEMENT.worktrees if worktrees is None else worktrees,
        unreachable=_answer(table, "unreachable", DEFAULT_ENFORCEMENT.unreachable),
        stash=_answer(table, "stash", DEFAULT_ENFORCEMENT.stash),
        target=_answer(table, "target", DEFAULT_ENFORCEMENT.target),
    )


def _answer(table: Table, key: str, default: str) -> str:
    said = table.data.get(key)
    example = {True: ALLOW, False: DENY}.get(said, default) if isinstance(said, bool) else default
    return table.word(key, ANSWERS, default, wrong="is no answer", example=example, aliases=_ANSWER_ALIASES)
