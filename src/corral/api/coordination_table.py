"""The routes of what agents agree on, a table each; joined to the others in `openapi_table`."""

from __future__ import annotations

from corral.api.kv_table import KV

COORDINATION = (*KV,)
