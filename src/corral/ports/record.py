"""What everything on the wire between daemon and keeper is made of."""

from __future__ import annotations

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of everything on the wire: immutable, named fields, defaults left out."""
