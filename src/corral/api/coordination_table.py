"""The routes of what agents agree on, a table each; joined to the others in `openapi_table`."""

from __future__ import annotations

from corral.api.kv_table import KV
from corral.api.lease_table import LEASES
from corral.api.msg_table import MSG
from corral.api.port_table import PORTS
from corral.api.task_table import TASKS
from corral.api.topic_table import TOPICS

COORDINATION = (*KV, *LEASES, *MSG, *PORTS, *TASKS, *TOPICS)
