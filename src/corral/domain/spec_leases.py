"""The `[leases]` table of a `corral.toml`: how long leases and locks stay without a sign of life."""

from collections.abc import Mapping

from corral.domain.lease_terms import DEFAULT_LEASE_TERMS, LEASE_TERM_NAMES, LeaseTerms
from corral.domain.spec_durations import read_duration, shown_duration
from corral.domain.spec_table import Table

#: What other words there are for these keys.
ALIASES = {
    "delay": "suspect", "grace": "suspect", "lock_delay": "suspect", "suspect_delay": "suspect",
    "people": "person", "ttl": "person", "user": "person",
    "locks": "lock", "lock_ttl": "lock",
}  # fmt: skip
#: Shorter than this an agent that is started anew would lose what it holds; longer, nobody could wait for it.
_LEAST, _MOST = 1.0, 7 * 86400.0


def read_lease_terms(root: Table, elsewhere: Mapping[str, str]) -> LeaseTerms:
    """What the table says, and the defaults for the rest. `elsewhere` says where keys belong that it does not take."""
    table = root.table("leases", f"[leases] with {_example('suspect')}")
    if table is None:
        return DEFAULT_LEASE_TERMS
    table.only(LEASE_TERM_NAMES, ALIASES, elsewhere)
    said = {
        name: read_duration(table, name, _example(name), least=_LEAST, most=_MOST)
        for name in LEASE_TERM_NAMES
        if name in table.data
    }
    return LeaseTerms(**{name: value for name, value in said.items() if value is not None})


def _example(name: str) -> str:
    return f'{name} = "{shown_duration(getattr(DEFAULT_LEASE_TERMS, name))}"'
