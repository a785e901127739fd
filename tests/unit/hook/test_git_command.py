"""What git was told to do, read from its words."""

import pytest

from corral.hook.git_command import verb_of


@pytest.mark.parametrize(
    ("line", "verb"),
    [
        ("git fetch origin", "fetch"),
        ("git -C there -c a.b=fetch tag fetch", "tag"),
        ("/usr/lib/git-core/git --git-dir=x --no-pager branch -M main", "branch"),
        ("git --git-dir fetch branch", "branch"),
        ("git --version", ""),
        ("git -C", ""),
        ("git", ""),
        ("", ""),
    ],
)
def test_the_command_is_the_first_word_that_is_no_option(line: str, verb: str) -> None:
    assert verb_of(line.split()) == verb
