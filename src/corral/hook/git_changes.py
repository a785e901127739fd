"""What is about to be committed, or a ref is about to move to: the paths that are somebody's own doing.

What others did and is in the repository already is nobody's doing here: merging or rebasing onto it writes nothing of
theirs. So of a commit that is made counts what differs from *all* its parents, and of a move of a ref what the commits
do that no branch, tag or remote-tracking branch has yet; of that only what the ref did not have before, so that a
commit message can be mended. A rename counts on both sides, a submodule is one path, and whatever bytes a name has, it
is the name.
"""

import os

from corral.hook.reading_git import GitFailedError, names, output_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_PATHS = ("-r", "-z", "--name-only", "--no-renames", "--ignore-submodules=none")
_KNOWN = ("--branches", "--tags", "--remotes")
#: In the name of an object that is none.
_NONE = "0"


def staged() -> "list[bytes]":
    """The paths that the next commit changes compared to all its parents."""
    git_dir = os.environ.get("GIT_DIR") or os.fsdecode(output_of("rev-parse", "--git-dir")).rstrip("\n")
    parents = [_head(), *_merged(os.path.join(git_dir, "MERGE_HEAD"))]
    return _common(names(output_of("diff-index", "--cached", *_PATHS, parent, "--")) for parent in parents)


def moved(updates: "Sequence[tuple[str, str, str]]") -> "list[bytes]":
    """The paths that moves of refs (old, new, name) bring about, by commits that are new here."""
    fetched = [new for _, new, ref in updates if ref.startswith("refs/remotes/") and new.strip(_NONE)]
    found: dict[bytes, None] = {}
    seen = set()
    for old, new, ref in updates:
        if not (ref == "HEAD" or ref.startswith("refs/heads/")) or not new.strip(_NONE) or (old, new) in seen:
            continue
        seen.add((old, new))
        found.update(dict.fromkeys(_of_move(old, new, fetched)))
    return list(found)


def _of_move(old: str, new: str, fetched: "list[str]") -> "list[bytes]":
    commits = output_of("rev-list", new, "--not", *_KNOWN, *fetched)
    if not commits:
        return []
    done = names(_done_by(commits))
    if not done or not old.strip(_NONE):
        return done
    return _common((done, names(output_of("diff-tree", *_PATHS, old, new, "--"))))


def _done_by(commits: bytes) -> bytes:
    """What the commits change compared to all parents of each. Fed in portions that fit into a pipe."""
    lines = commits.splitlines(keepends=True)
    return b"".join(
        output_of(
            "diff-tree", "--stdin", "--root", "-c", "--no-commit-id", *_PATHS, feed=b"".join(lines[at : at + 500])
        )
        for at in range(0, len(lines), 500)
    )


def _head() -> str:
    """HEAD, or the tree with nothing in it on a branch without a commit."""
    try:
        return output_of("rev-parse", "--quiet", "--verify", "HEAD").decode("ascii").strip()
    except GitFailedError:
        return output_of("hash-object", "-t", "tree", "--stdin").decode("ascii").strip()


def _merged(path: str) -> "list[str]":
    """What HEAD is being merged with, a name a line; nothing if no merge is under way."""
    try:
        with open(path, encoding="ascii") as file:
            return file.read().split()
    except FileNotFoundError:
        return []


def _common(lists: "Iterable[list[bytes]]") -> "list[bytes]":
    first, *others = lists
    for other in map(set, others):
        first = [path for path in first if path in other]
    return first
