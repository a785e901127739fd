"""What Corral's hooks in an agent's worktree do before the person's own run: refuse what is somebody else's.

Called by the scripts that `adapters.git.hook_scripts` writes, with the settings of the worktree as words. It ends with
`ALLOWED` or `REFUSED`, or with another exit code if it could not do its work; the scripts then do as if the daemon
could not be reached.
"""

import os
import sys

from corral.domain.errors import CorralError
from corral.hook.asking import Asker, DaemonSilentError, refused_writes
from corral.hook.git_changes import moved, staged
from corral.hook.reading_git import GitFailedError, output_of
from corral.places import Places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    from corral.hook.asking import Refused

ALLOWED, REFUSED, FAILED = 0, 3, 4

#: So many refused paths are named, the others counted.
_MOST_NAMED = 10
_STASH = "refs/stash"


class Settings:
    """Of one worktree; the words that a script passes are `name=value`."""

    __slots__ = ("agent", "home", "ignore_case", "instance", "runtime", "stash", "target", "team", "unreachable")

    def __init__(self, words: "Sequence[str]") -> None:
        given = dict(word.split("=", 1) for word in words)
        self.home = given["home"]
        self.runtime = given["runtime"]
        self.instance = given["instance"]
        self.team = given["team"]
        self.agent = given["agent"]
        self.ignore_case = given["ignore_case"] == "1"
        self.unreachable = given["unreachable"]
        self.stash = given["stash"]
        self.target = given["target"]


def main() -> "NoReturn":
    """Judge what git is about to do; ends the process."""
    hook, *words = sys.argv[1:]
    settings = Settings(words)
    try:
        code = judge(hook, settings)
    except (GitFailedError, CorralError, OSError) as error:
        tell(f"cannot tell what this would change: {error}")
        code = FAILED
    sys.stderr.flush()
    # Python would take itself apart first, and git waits for that.
    os._exit(code)


def judge(hook: str, settings: Settings) -> int:
    """The exit code for one call of a hook; what is refused is told on standard error."""
    if hook == "reference-transaction":
        lines = os.fsdecode(sys.stdin.buffer.read()).split("\n")
        updates = [(old, new, ref) for old, new, ref in (line.split(" ", 2) for line in lines if line)]
        if settings.stash == "deny" and _moves(_STASH, updates):
            return _refuse_stash()
        if settings.target and _moves(f"refs/heads/{settings.target}", updates):
            return _refuse_target(settings.target)
        paths = moved(updates)
    else:
        paths = staged()
    return _judge_paths(paths, settings) if paths else ALLOWED


def _moves(ref: str, updates: "Sequence[tuple[str, str, str]]") -> bool:
    """True if the ref comes to be at another commit.

    Not if it is packed: then it comes to be where it is. And not if it goes: before a stash is taken out git asks
    nobody, and to refuse what is left of that would leave half of it; an old git packs in two steps, and takes the ref
    away in the second.
    """
    return any(name == ref and new.strip("0") and new != _commit_of(ref) for _, new, name in updates)


def _commit_of(ref: str) -> str:
    """What the ref is at now; empty if it is not there."""
    try:
        return output_of("rev-parse", "--quiet", "--verify", ref).decode("ascii").strip()
    except GitFailedError:
        return ""


def _judge_paths(paths: "list[bytes]", settings: Settings) -> int:
    # An agent of the team that works in another's worktree writes in its own name, and anybody else in the name of the
    # worktree's agent. An agent of another team may have another repository, where nobody holds this.
    asker = Asker.from_environment(settings.instance)
    if asker is None or asker.team != settings.team:
        asker = Asker(settings.team, settings.agent)
    places = Places(settings.home, settings.runtime)
    try:
        refused = refused_writes(places, asker, paths, ignore_case=settings.ignore_case, shared=False)
    except DaemonSilentError as error:
        return _without_answer(error, settings)
    if not refused:
        return ALLOWED
    _tell_refusal(refused)
    return REFUSED


def _tell_refusal(refused: "Sequence[Refused]") -> None:
    tell("refused, because this would change what is somebody else's:")
    for one in refused[:_MOST_NAMED]:
        sys.stderr.write(f"  {one.sentence}\n")
    if len(refused) > _MOST_NAMED:
        sys.stderr.write(f"  and {len(refused) - _MOST_NAMED} more\n")
    first = refused[0]
    remedy(
        f"leave it out of the commit, wait for it (corral lease acquire --wait 10m '{first.pattern}'), "
        f"or ask {first.holder} to release it (corral msg send {first.holder} '…')"
    )


def _without_answer(error: DaemonSilentError, settings: Settings) -> int:
    if settings.unreachable == "allow":
        tell(f"NOT CHECKED whether this changes what somebody else holds: {error.message}")
        remedy(error.remedy)
        return ALLOWED
    tell(f"refused, because nobody can tell whether this changes what somebody else holds: {error.message}")
    remedy(f'{error.remedy}; unreachable = "allow" below [enforcement] in corral.toml lets it pass unchecked')
    return REFUSED


def _refuse_stash() -> int:
    tell("refused: the stash is one for all worktrees of the repository, and others would find, or lose, what is in it")
    remedy(
        "commit to your own branch instead (git commit -m wip), or keep a patch (git diff HEAD > wip.patch); "
        'stash = "allow" below [enforcement] in corral.toml permits it'
    )
    return REFUSED


def _refuse_target(target: str) -> int:
    tell(f"refused: {target} is moved by the team's merge queue, and by nothing else from an agent's worktree")
    remedy(
        "commit to your own branch, then corral merge submit; "
        'target = "allow" below [enforcement] in corral.toml permits it'
    )
    return REFUSED


def tell(text: str) -> None:
    sys.stderr.write(f"corral: {text}\n")


def remedy(text: str) -> None:
    sys.stderr.write(f"  → {text}\n")
