"""What git says when it refuses, made into one sentence and a remedy."""

import pytest

from corral.git import GitError, git, in_one_line, remedy


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (
            "Preparing worktree (new branch 'x')\nfatal: cannot lock ref 'x': it exists\n",
            "cannot lock ref 'x': it exists",
        ),
        ("error: one\nerror: two\nhint: try this\n", "one; two"),
        ("error: the cause\nerror: more\nfatal: what came of it\n", "the cause; what came of it"),
        ("no commits on a Friday\n", "no commits on a Friday"),
        ("\n", ""),
    ],
)
def test_the_complaint_is_one_line(said: str, sentence: str) -> None:
    assert in_one_line(said) == sentence


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ("fatal: detected dubious ownership in repository at '/r'", "safe.directory /r"),
        ("fatal: Unable to create '/r/.git/index.lock': File exists.", "lock file"),
        ("error: unable to write file: No space left on device", "room"),
        ("error: unable to write file large.bin", "room"),
        ("fatal: something nobody foresaw", "git -C /r fsck"),
    ],
)
def test_the_remedy_fits_the_complaint(said: str, word: str) -> None:
    assert word in remedy(said, "/r")


def test_an_error_has_what_and_which_and_a_remedy() -> None:
    with pytest.raises(GitError) as refused:
        git("/", "rev-parse", "--git-dir")
    assert refused.value.message.startswith("git rev-parse in /: not a git repository")
    assert "\n" not in refused.value.message
    assert refused.value.remedy
