"""No command waits for a person, and whoever wants it otherwise gets it."""

import subprocess
from pathlib import Path

import pytest

from corral.domain.unattended import unattended

#: What somebody with a desktop has in the environment when they say `up`.
AMBIENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "EDITOR": "vim",
    "GIT_EDITOR": "code --wait",
    "PAGER": "less",
    "MANPAGER": "most",
    "SSH_ASKPASS": "/usr/bin/ksshaskpass",
    "FORCE_COLOR": "1",
    "COLORTERM": "truecolor",
    "CARGO_TERM_COLOR": "always",
    "PY_COLORS": "1",
    "HGEDITOR": "vim",
    "DELTA_PAGER": "less",
    "NODE_ENV": "dev",
}


def quiet(*declared: str, tty: bool = False, **extra: str) -> dict[str, str]:
    return unattended(AMBIENT, declared, extra, tty=tty)


# Who wins.


def test_the_rest_of_the_environment_is_as_it_was() -> None:
    found = quiet()
    assert (found["PATH"], found["NODE_ENV"]) == (AMBIENT["PATH"], "dev")


def test_an_editor_of_the_person_is_not_opened() -> None:
    found = quiet()
    editors = "EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR KUBE_EDITOR HGEDITOR SVN_EDITOR FCEDIT"
    assert {found[name] for name in editors.split()} == {"false"}


def test_a_pager_of_the_person_is_not_opened() -> None:
    found = quiet()
    assert {found[name] for name in ("PAGER", "GIT_PAGER", "MANPAGER", "SYSTEMD_PAGER", "DELTA_PAGER")} == {"cat"}


def test_what_the_team_declares_wins_over_the_defaults() -> None:
    assert quiet("MANPAGER")["MANPAGER"] == "most"


def test_what_comes_with_the_command_wins_over_everything() -> None:
    found = quiet("MANPAGER", MANPAGER="head", TERM="vt100", GIT_TERMINAL_PROMPT="1")
    assert (found["MANPAGER"], found["TERM"], found["GIT_TERMINAL_PROMPT"]) == ("head", "vt100", "1")


def test_an_editor_that_is_asked_for_is_the_editor_of_every_program() -> None:
    found = quiet(EDITOR="./edit")
    assert (found["EDITOR"], found["VISUAL"], found["GIT_EDITOR"]) == ("./edit", "./edit", "./edit")


def test_a_pager_that_is_declared_is_the_pager_of_every_program() -> None:
    assert quiet("PAGER")["GIT_PAGER"] == "less"


def test_an_editor_for_one_program_is_for_that_program() -> None:
    found = quiet(GIT_SEQUENCE_EDITOR="sed -i s/pick/squash/")
    assert (found["GIT_SEQUENCE_EDITOR"], found["GIT_EDITOR"]) == ("sed -i s/pick/squash/", "false")


# Colours.


def test_without_a_terminal_there_are_no_colours() -> None:
    found = quiet()
    assert (found["TERM"], found["NO_COLOR"], found["CLICOLOR"]) == ("dumb", "1", "0")
    assert not {"FORCE_COLOR", "CLICOLOR_FORCE", "COLORTERM", "CARGO_TERM_COLOR", "PY_COLORS"} & found.keys()


def test_colours_of_one_program_that_are_asked_for_are_for_that_program() -> None:
    found = quiet("PY_COLORS", CARGO_TERM_COLOR="always")
    assert (found["PY_COLORS"], found["CARGO_TERM_COLOR"], found["NO_COLOR"]) == ("1", "always", "1")
    assert quiet(tty=True)["PY_COLORS"] == "1"


def test_on_a_terminal_colours_are_up_to_the_program() -> None:
    found = quiet(tty=True)
    assert (found["TERM"], found["COLORTERM"]) == ("xterm-256color", "truecolor")
    assert "NO_COLOR" not in found


def test_colours_that_are_asked_for_meet_no_contradiction() -> None:
    found = quiet(FORCE_COLOR="1")
    assert found["FORCE_COLOR"] == "1"
    assert "NO_COLOR" not in found


def test_a_pager_on_a_terminal_waits_for_nobody_either() -> None:
    assert quiet(tty=True)["GIT_PAGER"] == "cat"


def test_nothing_says_that_this_is_ci() -> None:
    assert "CI" not in quiet()


# Real git, in a repository whose configuration wants a person.


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    work = tmp_path / "work"
    work.mkdir()
    for words in (
        ("init", "--quiet", "--initial-branch=main"),
        ("config", "user.name", "t"),
        ("config", "user.email", "t@example.invalid"),
        ("config", "core.editor", "sleep 60; false"),
        ("config", "core.pager", "sleep 60; less"),
        ("config", "core.askPass", "sleep 60; false"),
        ("config", "sequence.editor", "sleep 60; false"),
    ):
        assert git(work, *words).returncode == 0
    stream = "".join(
        f"commit refs/heads/main\ncommitter t <t@example.invalid> {1700000000 + n} +0000\ndata 4\nc{n:03}\n"
        for n in range(200)
    )
    assert git(work, "fast-import", "--quiet", given=stream).returncode == 0
    assert git(work, "reset", "--quiet", "--hard").returncode == 0
    return work


def git(work: Path, *words: str, given: str = "", **extra: str) -> subprocess.CompletedProcess[str]:
    """Git as a command of an agent; fails if it takes as long as somebody who has to be waited for."""
    ambient = AMBIENT | {"HOME": str(work.parent / "home"), "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(
        ["git", *words],
        cwd=work,
        env=unattended(ambient, (), extra, tty=False),
        input=given,
        capture_output=True,
        text=True,
        timeout=30,
        start_new_session=True,
    )


def test_git_log_shows_everything_at_once(repository: Path) -> None:
    done = git(repository, "log", "--oneline")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 200)


def test_git_log_has_no_colours(repository: Path) -> None:
    assert "\x1b" not in git(repository, "log", "-1", "--stat").stdout


def test_git_commit_without_a_message_fails_and_says_how_to_give_one(repository: Path) -> None:
    (repository / "file").write_text("x")
    git(repository, "add", "file")
    done = git(repository, "commit")
    assert done.returncode == 1
    assert "-m" in done.stderr
    assert git(repository, "rev-list", "--count", "HEAD").stdout.strip() == "200"


def test_git_commit_with_a_message_works(repository: Path) -> None:
    assert git(repository, "commit", "--allow-empty", "-m", "done").returncode == 0


def test_git_rebase_that_nobody_edits_is_no_success(repository: Path) -> None:
    before = git(repository, "rev-parse", "HEAD").stdout
    assert git(repository, "rebase", "-i", "HEAD~3").returncode != 0
    assert git(repository, "rev-parse", "HEAD").stdout == before
    assert not (repository / ".git" / "rebase-merge").exists()


def test_git_rebase_goes_on_with_an_editor_that_comes_with_the_command(repository: Path) -> None:
    done = git(repository, "rebase", "-i", "--empty=keep", "HEAD~3", EDITOR="true")
    assert done.returncode == 0, done.stderr


def test_git_does_not_ask_for_a_password(repository: Path) -> None:
    asked = "protocol=https\nhost=example.invalid\n\n"
    done = git(repository, "credential", "fill", given=asked)
    assert done.returncode != 0
    assert "terminal prompts disabled" in done.stderr
