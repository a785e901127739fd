"""Why something stays where worktrees are, though nobody's work is the reason. Pure.

The keeper says it, and the receipt has to know it again: `--discard` is no remedy for these.
"""

#: Somebody put something else there.
NO_WORKTREE = "not a git worktree"
#: Nor is it one that git lists under this path.
NOT_OURS = "not a worktree of"
#: A broken one, or one of a repository that went away.
UNANSWERED = "not a worktree that git answers for: it cannot be checked"
#: What it leads to may be a person's own.
LINK = "a symbolic link, which Corral neither follows nor removes"
BELOW_LINK = "below a symbolic link, which Corral neither follows nor removes"


def is_in_the_way(why: str) -> bool:
    """True if a person has to move it away: nothing that Corral does removes it."""
    return why.startswith((NO_WORKTREE, NOT_OURS, UNANSWERED, LINK, BELOW_LINK))
