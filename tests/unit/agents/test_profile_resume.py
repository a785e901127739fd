"""How profiles say that conversations are continued."""

import pytest

from corral.agents.catalogue import by_name, profiles
from corral.agents.profile_file import read_profile
from corral.domain.errors import BadSpecError

BASE = """name = "x"
title = "X"
executable = "x"
command = ["x"]
ready = ['^>$']
paste_pause = 0.1
note = "A note."
"""
TRANSCRIPTS = """[resume.transcripts]
roots = ["$X_HOME/s", "~/.x/s"]
files = ["*/*.jsonl"]
session = '(?P<session>.+)\\.jsonl'
directory = "cwd"
"""


@pytest.mark.parametrize("name", ["claude", "codex", "opencode", "pi"])
def test_programs_that_keep_conversations_say_how(name: str) -> None:
    profile = by_name(name)
    assert profile is not None
    assert profile.resume is not None
    assert "{session}" in profile.resume.resume


def test_a_profile_without_the_table_cannot_resume() -> None:
    assert read_profile(BASE, "x.toml").resume is None
    assert any(profile.resume is None for profile in profiles())


def test_all_of_it_is_read() -> None:
    profile = read_profile(
        f'{BASE}[resume]\nwords = ["r", "{{session}}"]\nfork = ["f", "{{session}}"]\nbegin = ["b", "{{new}}"]\n'
        f'unless = ["e"]\n{TRANSCRIPTS}',
        "x.toml",
    )
    assert profile.resume is not None
    assert profile.resume.fork == ("f", "{session}")
    assert profile.resume.begin == ("b", "{new}")
    assert profile.resume.unless == ("e",)
    assert profile.resume.transcripts is not None
    assert profile.resume.transcripts.roots == ("$X_HOME/s", "~/.x/s")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[resume]\n", "words"),
        ('[resume]\nwords = ["--last"]\n', "does not name the conversation"),
        ('[resume]\nwords = ["{session}"]\nfork = ["--fork"]\n', "does not name the conversation"),
        ('[resume]\nwords = ["{session}"]\nbegin = ["--id"]\n', "does not name the new conversation"),
        ('[resume]\nwords = ["{session}"]\nunless = [1]\n', "array of strings"),
        (f'[resume]\nwords = ["{{session}}"]\n{TRANSCRIPTS.replace("~/", "")}', "must begin with"),
        (f'[resume]\nwords = ["{{session}}"]\n{TRANSCRIPTS.replace("*/*", "**/*")}', "each directory on the way"),
        (f'[resume]\nwords = ["{{session}}"]\n{TRANSCRIPTS.replace("?P<session>", "")}', "no group"),
        (f'[resume]\nwords = ["{{session}}"]\n{TRANSCRIPTS.replace("(?P", "(?X")}', "no regular expression"),
        ('[resume]\nwords = ["{session}"]\nword = ["x"]\n', "no such key"),
    ],
)
def test_mistakes_are_told(text: str, said: str) -> None:
    with pytest.raises(BadSpecError, match=said):
        read_profile(BASE + text, "x.toml")
