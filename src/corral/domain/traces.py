"""What agents and people did with one file, or do with it now: which file is meant, and in which order it is told.

A trace comes from git, from a lease, from a task that names the file, or from the journal.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from corral.domain.errors import WrongUseError
from corral.domain.names import is_valid

#: What a trace says. The first four are so now, the others happened.
CHANGING, HOLDS, WAITS, CLAIMS = "changing", "holds", "waits", "claims"
COMMITTED, MERGED = "committed", "merged"
_LONGEST_PATH = 4096
#: Letters that go on a path: a name with one of them beside it is a part of another name.
_GOES_ON = r"[\w/-]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One of them. Of agent and person at least one is known, but for a change in a checkout that several share."""

    what: str
    #: Unix seconds; None for what is so now, nobody knows since when.
    time: float | None
    #: TEAM/AGENT; empty if it was a person, or nobody knows which agent.
    agent: str = ""
    person: str = ""
    #: The name that the file had then.
    path: str = ""
    detail: str = ""
    commit: str = ""
    branch: str = ""
    lease: str = ""
    pattern: str = ""
    task: str = ""
    #: Where it is being changed.
    workspace: str = ""


def names_of(path: str, cwd: str, tops: Iterable[str]) -> list[str]:
    """Which files of the repository somebody in `cwd` may mean by `path`, from its top, the likeliest first.

    A path is relative to the directory of the caller, if that is in one of the working trees at `tops`, or else to the
    top of the repository. `WrongUseError` for what can be none.
    """
    if not path or "\0" in path or len(path) > _LONGEST_PATH:
        raise WrongUseError("that is no path of a file", "name a file of the repository, such as src/app.py")
    found: list[str] = []
    if cwd or os.path.isabs(path):
        absolute = os.path.normpath(os.path.join(cwd, path))
        # The nearest: a worktree may be inside the repository.
        for top in sorted(tops, key=len, reverse=True):
            if absolute.startswith(top.rstrip("/") + "/"):
                found.append(os.path.relpath(absolute, top))
                break
    if not os.path.isabs(path):
        found.append(os.path.normpath(path))
    inside = [name for name in dict.fromkeys(found) if name != "." and name.partition("/")[0] not in ("..", ".git")]
    if not inside:
        raise WrongUseError(f"{shown(path)} is no file of the repository", "name one that is in it")
    return inside


def agent_of_branch(branch: str) -> str:
    """The agent as TEAM/AGENT whose branch it is; empty if it is nobody's."""
    words = branch.split("/")
    if len(words) != 3 or words[0] != "corral":
        return ""
    # Behind a dot there is the instance, where two have an agent of the same name.
    team, agent = words[1], words[2].partition(".")[0]
    return f"{team}/{agent}" if is_valid(team) and is_valid(agent) else ""


def mentions(text: str, path: str) -> bool:
    """True if a text names the file: the path stands there for itself, and not as a part of another."""
    if path not in text:
        return False
    return re.search(rf"(?<![\w./-]){re.escape(path)}(?!{_GOES_ON}|\.\w)", text) is not None


def newest_first(traces: Iterable[Trace], since: float | None) -> list[Trace]:
    """What is so now, then what happened, the newest first and nothing older than `since`."""
    wanted = [one for one in traces if is_now(one) or since is None or one.time is None or one.time >= since]
    return sorted(wanted, key=lambda one: (not is_now(one), -(one.time or 0.0)))


def is_now(trace: Trace) -> bool:
    """True for what is so now, however long it has been."""
    return trace.what in (CHANGING, HOLDS, WAITS, CLAIMS)


def shown(path: str) -> str:
    """A path as text; bytes that are none are spelled out."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def shown_all(paths: Sequence[str]) -> str:
    """Several of them in a sentence."""
    return " and ".join(shown(path) for path in paths)
