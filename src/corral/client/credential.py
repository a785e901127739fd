"""The credential of the agent that this process is of: loaded by what runs in an agent, and by nothing else."""

import os

#: As `domain.credentials` has it, with the end of its line.
_LONGEST = 400 + 1


def shown(path: str) -> str:
    """What the file has that `CORRAL_CREDENTIAL_FILE` names; empty if there is none that can be a header.

    That is no error here: the daemon says whether it needs one.
    """
    try:
        # Whatever is there is not waited for.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        found = os.read(descriptor, _LONGEST).decode("latin-1").strip()
    except OSError:
        return ""
    finally:
        os.close(descriptor)
    return found if found.isascii() and found.isprintable() else ""
