"""The audit trail on disk: segments of entries, signed checkpoints beside them, and an anchor of what was dropped."""
