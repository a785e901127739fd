"""What is about to be committed, or a ref is about to move to: the paths that are somebody's own doing.

What others did and is in the repository already is nobody's doing here: merging or rebasing onto it writes nothing of
theirs. So of a commit that is made counts what differs from *all* its parents, and of a move of a ref what the commits
do that no branch, tag or remote-tracking branch has yet; of that only what the ref did not have before, so that a
commit message can be mended. A rename counts on both sides, a submodule is its own path and everything below it, and
whatever bytes a name has, it is the name.
"""

import os

from corral.hook.reading_git import GitFailedError, git_path, output_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    #: Of a ref: what it was at, what it comes to be at, and its name.
    Update = tuple[str, str, str]

_PATHS = ("-r", "-z", "--raw", "--no-renames", "--ignore-submodules=none")
_KNOWN = ("--branches", "--tags", "--remotes")
#: The mode of a submodule.
_SUBMODULE = b"160000"
#: In the name of an object that is none.
_NONE = "0"
#: Before the name of a branch: what comes to be there is that branch, whatever its commit is. Since git 2.46.
_SYMBOLIC = "ref:"


def staged() -> "list[bytes]":
    """The paths that the next commit changes compared to all its parents."""
    git_dir = os.environ.get("GIT_DIR") or os.fsdecode(output_of("rev-parse", "--git-dir")).rstrip("\n")
    parents = [_head(), *_merged(os.path.join(git_dir, "MERGE_HEAD"))]
    return _common(paths_of(output_of("diff-index", "--cached", *_PATHS, parent, "--")) for parent in parents)


class Moves:
    """What moves of refs bring about."""

    def __init__(self, updates: "Sequence[Update]", *, fetching: bool = False) -> None:
        """`fetching`: tags that come are others'. Else they are looked at, since what a tag has counts as known."""
        self._fetched = [new for _, new, ref in updates if ref.startswith("refs/remotes/") and _is_commit(new)]
        branches = {new for _, new, ref in updates if ref.startswith("refs/heads/")}
        #: (old, new), old empty where there was nothing.
        self._moves: list[tuple[str, str]] = []
        for old, new, ref in updates:
            # HEAD goes along with the branch that it stands for.
            along = ref == "HEAD" and new in branches
            if _is_commit(new) and not along and (ref == "HEAD" or ref.startswith("refs/heads/")):
                # Whoever does not care what a ref was at says zeros; it is there all the same until now.
                self._moves.append((old if _is_commit(old) else commit_of(ref), new))
            elif ref.startswith("refs/tags/") and _is_commit(new) and not fetching and (commit := commit_of(new)):
                self._moves.append((commit_of(old) if _is_commit(old) else commit_of(ref), commit))

    def at_most(self) -> "list[bytes]":
        """No path is missing here, and there may be some that are others' doing. Takes no look at other refs."""
        found: dict[bytes, None] = {}
        for old, new in self._moves:
            paths = _between(old, new) if old else self._done(old, new)
            found.update(dict.fromkeys(paths))
        return list(found)

    def exactly(self) -> "list[bytes]":
        """The paths, by commits that are new here."""
        found: dict[bytes, None] = {}
        for old, new in self._moves:
            found.update(dict.fromkeys(self._done(old, new)))
        return list(found)

    def _done(self, old: str, new: str) -> "list[bytes]":
        commits = output_of("rev-list", new, "--not", *_KNOWN, *self._fetched)
        if not commits:
            return []
        done = paths_of(_done_by(commits))
        return _common((done, _between(old, new))) if done and old else done


def commit_of(ref: str, *, whole: bool = False) -> str:
    """The commit that the ref is at now; empty if it is not there. `whole`: what it is at, be it a commit or not."""
    try:
        return output_of("rev-parse", "--quiet", "--verify", ref if whole else f"{ref}^0").decode("ascii").strip()
    except GitFailedError:
        return ""


def moves(ref: str, new: str) -> bool:
    """True if a ref goes, or comes to be at another commit; not if it is packed, which looks much the same.

    First a ref that is packed comes to be where it is. Then its file goes, and the ref is in the table of those packed.
    """
    now = commit_of(ref, whole=True)
    if new.strip(_NONE):
        return new != now
    if not now or not os.path.exists(git_path(ref)):
        return True
    try:
        with open(git_path("packed-refs"), "rb") as file:
            return f"{now} {ref}\n".encode("utf-8", "surrogateescape") not in file.read()
    except FileNotFoundError:
        return True


def paths_of(raw: bytes) -> "list[bytes]":
    """The paths in what git tells of differences (`--raw -z`)."""
    fields = raw.split(b"\0")[:-1]
    found: dict[bytes, None] = {}
    for modes, path in zip(fields[::2], fields[1::2], strict=True):
        found[path] = None
        if _SUBMODULE in modes.lstrip(b":").split(b" ", modes.count(b":") + 1)[:-1]:
            found[path + b"/"] = None
    return list(found)


def _is_commit(name: str) -> bool:
    return bool(name.strip(_NONE)) and not name.startswith(_SYMBOLIC)


def _between(old: str, new: str) -> "list[bytes]":
    return paths_of(output_of("diff-tree", *_PATHS, old, new, "--"))


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
