"""How long leases and locks stay without a sign of life, where nobody says otherwise. Pure."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, kw_only=True, slots=True)
class LeaseTerms:
    """The `[leases]` table of a team, with every default filled in; in seconds."""

    #: A lease of an agent whose run ended without a word is suspect for so long, then it expires.
    suspect: float = 60.0
    #: A lease of a person, who has to renew it.
    person: float = 600.0
    #: A lock, which the command that holds it renews.
    lock: float = 30.0


DEFAULT_LEASE_TERMS = LeaseTerms()
#: The keys of the table, in the order in which they are shown.
LEASE_TERM_NAMES = tuple(field.name for field in fields(LeaseTerms))


def lease_terms_as_json(terms: LeaseTerms) -> dict[str, float]:
    """All of them, for the journal."""
    return {name: getattr(terms, name) for name in LEASE_TERM_NAMES}


def lease_term_differences(old: LeaseTerms, new: LeaseTerms) -> tuple[str, ...]:
    """The keys of the file that differ: `leases.suspect`."""
    return tuple(f"leases.{name}" for name in LEASE_TERM_NAMES if getattr(old, name) != getattr(new, name))
