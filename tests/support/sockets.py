"""Which unix sockets a process listens on, from /proc."""

import os

_LISTENING = "00010000"


def listening(pid: int) -> list[str]:
    """The paths of the unix sockets that `pid` listens on, those whose file is gone included."""
    paths = {}
    with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as table:
        for line in table:
            fields = line.split(maxsplit=7)
            if len(fields) == 8 and fields[3] == _LISTENING:
                paths[f"socket:[{fields[6]}]"] = fields[7].rstrip("\n")
    return [paths[target] for target in _targets(pid) if target in paths]


def _targets(pid: int) -> list[str]:
    directory = f"/proc/{pid}/fd"
    try:
        return [os.readlink(f"{directory}/{entry}") for entry in os.listdir(directory)]
    except OSError:
        return []  # it ended, or is not ours to look into
