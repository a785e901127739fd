"""What Corral's hooks in an agent's worktree do before the person's own run: refuse what is somebody else's.

Called by the scripts that `adapters.git.hook_scripts` writes, with the settings of the worktree as words. It ends with
`ALLOWED` or `REFUSED`, or with another exit code if it could not do its work; the scripts then do as if the daemon
could not be reached.
"""

import os
import sys

from corral.domain.errors import CorralError
from corral.domain.message_commands import send_command
from corral.hook.asking import ACCESS, LOST, Asker, DaemonSilentError, refused_writes
from corral.hook.git_changes import Moves, moves, staged
from corral.hook.git_command import verb_of, words_above
from corral.hook.reading_git import GitFailedError, git_path
from corral.places import Places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn

    from corral.hook.asking import Refused
    from corral.hook.git_changes import Update

ALLOWED, REFUSED, FAILED = 0, 3, 4

#: So many refused paths are named, the others counted.
_MOST_NAMED = 10
_STASH = "refs/stash"


class Settings:
    """Of one worktree; the words that a script passes are `name=value`.

    A script may have been written by an earlier version, and then says nothing of what came later.
    """

    __slots__ = (
        "agent", "home", "ignore_case", "instance", "runtime", "stash", "target", "team", "unreachable",
    )  # fmt: skip

    def __init__(self, words: "Sequence[str]") -> None:
        given = dict(word.split("=", 1) for word in words)
        self.home = given["home"]
        self.runtime = given["runtime"]
        self.instance = given["instance"]
        self.team = given["team"]
        self.agent = given["agent"]
        self.ignore_case = given.get("ignore_case") == "1"
        self.unreachable = given.get("unreachable", "deny")
        self.stash = given.get("stash", "deny")
        self.target = given.get("target", "")


def main() -> "NoReturn":
    """Judge what git is about to do; ends the process."""
    hook, *words = sys.argv[1:]
    settings = Settings(words)
    os.environ.pop("CORRAL_URL", None)  # about files of this host, its own daemon is asked
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
    if hook != "reference-transaction":
        paths = staged()
        return _judge_paths(paths, lambda: paths, settings) if paths else ALLOWED
    lines = os.fsdecode(sys.stdin.buffer.read()).split("\n")
    updates = [(old, new, ref) for old, new, ref in (line.split(" ", 2) for line in lines if line)]
    refused = _judge_refs(updates, settings)
    if refused != ALLOWED:
        return refused
    brought = Moves(updates, fetching=verb_of(words_above()) == "fetch")
    paths = brought.at_most()
    return _judge_paths(paths, brought.exactly, settings) if paths else ALLOWED


def _judge_refs(updates: "Sequence[Update]", settings: Settings) -> int:
    """Some refs are not an agent's to move, whatever is in the commits."""
    own = f"refs/heads/corral/{settings.team}/"
    for _, new, ref in updates:
        if ref == _STASH and settings.stash == "deny" and moves(ref, new) and (new.strip("0") or _is_more_stashed()):
            return _refuse_stash()
        if settings.target and ref == f"refs/heads/{settings.target}" and moves(ref, new):
            return _refuse_target(settings.target)
        if settings.target and not new.strip("0") and _is_renamed_to(settings.target, ref):
            _put_log_back(ref)
            return _refuse_target(settings.target)
        other = ref.removeprefix(own).partition(".")[0] if ref.startswith(own) else settings.agent
        if other != settings.agent and moves(ref, new):
            return _refuse_branch(ref, f"{settings.team}/{other}")
    return ALLOWED


def _is_renamed_to(name: str, ref: str) -> bool:
    """Whether a branch goes because it is to be called so (`git branch -M main`).

    git asks about the old name first, and takes it away, then about the new one: refused only then, the branch is lost.
    """
    words = words_above()
    return ref.startswith("refs/heads/") and verb_of(words) == "branch" and name in words


def _put_log_back(ref: str) -> None:
    """Undo what git has done of a rename before it asked."""
    try:
        os.rename(git_path("logs/refs/.tmp-renamed-log"), git_path(f"logs/{ref}"))
    except OSError:
        return  # there was no log, and the branch is as it was


def _is_more_stashed() -> bool:
    """Whether the stash goes with something in it (`clear`). When its last entry is taken out, git asks after that, and
    to refuse what is left to do would leave half of it.
    """
    try:
        return os.stat(git_path("logs/refs/stash")).st_size > 0
    except OSError:
        return False


def _judge_paths(paths: "list[bytes]", exactly: "Callable[[], list[bytes]]", settings: Settings) -> int:
    """Judge by paths that are more than need be; only if they are refused is it looked at exactly which it would be."""
    # An agent of the team that works in another's worktree writes in its own name, and anybody else in the name of the
    # worktree's agent. An agent of another team may have another repository, where nobody holds this.
    asker = Asker.from_environment(settings.instance)
    if asker is None or asker.team != settings.team:
        asker = Asker(settings.team, settings.agent)
    places = Places(settings.home, settings.runtime)

    def refused(of: "list[bytes]") -> "list[Refused]":
        return refused_writes(places, asker, of, ignore_case=settings.ignore_case, shared=False) if of else []

    try:
        found = refused(paths) and refused(exactly())
    except DaemonSilentError as error:
        return _without_answer(error, settings) if exactly() else ALLOWED
    if not found:
        return ALLOWED
    _tell_refusal(found)
    return REFUSED


def _tell_refusal(refused: "Sequence[Refused]") -> None:
    what = "not this agent's to write" if all(one.why == ACCESS for one in refused) else "somebody else's"
    tell(f"refused, because this would change what is {what}:")
    for one in refused[:_MOST_NAMED]:
        sys.stderr.write(f"  {one.sentence}\n")
    if len(refused) > _MOST_NAMED:
        sys.stderr.write(f"  and {len(refused) - _MOST_NAMED} more\n")
    first = refused[0]
    if first.why == ACCESS:
        remedy(
            "take it out of the commit (git restore --staged FILE), and leave that part to somebody who may write it"
        )
        return
    if first.why == LOST:
        remedy(
            f"look at what has changed there meanwhile, then acquire it again: corral lease acquire '{first.pattern}'"
        )
        return
    remedy(
        f"leave it out of the commit, wait for it (corral lease acquire --wait 10m '{first.pattern}'), "
        f"or ask {first.holder} to release it ({send_command(first.holder)})"
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


def _refuse_branch(ref: str, other: str) -> int:
    tell(f"refused: {ref.removeprefix('refs/heads/')} is the branch of {other}")
    remedy(f"work on your own branch; {send_command(other)} asks for what you need there")
    return REFUSED


def tell(text: str) -> None:
    sys.stderr.write(f"corral: {text}\n")


def remedy(text: str) -> None:
    sys.stderr.write(f"  → {text}\n")
