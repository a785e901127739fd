"""The policy that ships: Rego and its tables, beside this module. `adapters/policy` reads them."""

from __future__ import annotations

import os

#: Where the files are.
SHIPPED = os.path.dirname(os.path.abspath(__file__))
