"""The routes of what agents agree on, a table each; joined to the others in `openapi_table`."""

from __future__ import annotations

from corral.api.hook_table import HOOKS
from corral.api.inbox_table import INBOX
from corral.api.kv_table import KV
from corral.api.lease_table import LEASES
from corral.api.merge_table import MERGES
from corral.api.msg_table import MSG
from corral.api.port_table import PORTS
from corral.api.recording_table import RECORDINGS
from corral.api.send_table import SENDS
from corral.api.session_table import SESSIONS
from corral.api.task_table import TASKS
from corral.api.topic_table import TOPICS
from corral.api.who_table import WHO
from corral.api.write_table import WRITES

COORDINATION = (
    *HOOKS,
    *INBOX,
    *KV,
    *LEASES,
    *MERGES,
    *MSG,
    *PORTS,
    *RECORDINGS,
    *SENDS,
    *SESSIONS,
    *TASKS,
    *TOPICS,
    *WHO,
    *WRITES,
)
