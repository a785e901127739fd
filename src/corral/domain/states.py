"""The states of an agent, and the groups that rules speak of. No imports: everybody may read this."""

PENDING = "pending"
STARTING = "starting"
RUNNING = "running"
STOPPING = "stopping"
STOPPED = "stopped"
BACKOFF = "backoff"
FAILED = "failed"
#: The keeper or tmux does not answer. The agent may be alive: nothing is killed or restarted on it.
UNKNOWN = "unknown"

ALL = (PENDING, STARTING, RUNNING, STOPPING, STOPPED, BACKOFF, FAILED, UNKNOWN)

#: A process may exist: starting a second one would make two of them.
LIVE = frozenset({STARTING, RUNNING, STOPPING, UNKNOWN})
#: What an agent does that was told to stand still; its state stays `running`.
PAUSED = "paused"
#: Nothing runs and nothing will by itself.
AT_REST = frozenset({STOPPED, FAILED})

ACTIVITIES = ("working", "waiting", "idle", PAUSED, "unknown")
