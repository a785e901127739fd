"""Launch files in a directory with which the agent, who is the same user, does what it wants."""

import ast
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corral.adapters.files.launch import LaunchFiles
from corral.domain import credentials
from corral.domain.credentials import Names

RUN = "0123456789ab"


@pytest.fixture
def team(own_directory: Path) -> Path:
    return own_directory / "launch" / "shop"


@pytest.fixture
def launches(own_directory: Path, team: Path) -> LaunchFiles:
    files = LaunchFiles(str(team), str(own_directory / "own"))
    write(files)
    return files


def write(files: LaunchFiles, secret: str = "s3cret") -> None:
    files.write(
        agent="api",
        run=RUN,
        command=["sleep", "1"],
        shell=False,
        working_directory="/",
        environment={"KEY": secret},
        gated=True,
        note="a note",
    )


def file(team: Path, suffix: str) -> Path:
    return team / f"api.{RUN}{suffix}"


@pytest.fixture
def elsewhere(own_directory: Path) -> Path:
    """Somebody's directory, with files that have the names of ours."""
    directory = own_directory / "elsewhere"
    directory.mkdir()
    for name in (f"api.{RUN}", f"api.{RUN}.exit", f"api.{RUN}.gate", "api.env", "precious"):
        (directory / name).write_text("7 1")
    return directory


def pipe(path: Path) -> None:
    os.mkfifo(path)


def directory_with_things(path: Path) -> None:
    (path / "deep" / "deeper").mkdir(parents=True)
    (path / "deep" / "file").touch()
    os.chmod(path / "deep", 0)


def socket_file(path: Path) -> None:
    with closing(socket.socket(socket.AF_UNIX)) as one:
        one.bind(str(path))


def dangling_link(path: Path) -> None:
    path.symlink_to("/nowhere/at/all")


def link_to_itself(path: Path) -> None:
    path.symlink_to(path.name)


KINDS = [pipe, directory_with_things, socket_file, dangling_link, link_to_itself]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", [".exit", ".gate", ""])
def test_whatever_is_in_the_place_of_a_file_of_a_run_nothing_waits_and_it_is_removed(
    launches: LaunchFiles, team: Path, kind: Callable[[Path], None], suffix: str
) -> None:
    place = file(team, suffix)
    place.unlink(missing_ok=True)
    kind(place)
    assert launches.exit_code("api", RUN) is None
    assert launches.oom_kills("api", RUN) == 0
    launches.open_gate("api", RUN)
    assert launches.command_of("api", RUN) == (None if suffix == "" else (("sleep", "1"), False))
    launches.gate_passed("api", RUN)
    launches.forget_run("api", RUN)
    assert not os.path.lexists(place)
    launches.forget_team()
    assert not os.path.lexists(team)


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_is_in_the_place_of_the_environment_the_next_start_writes_its_own(
    launches: LaunchFiles, team: Path, kind: Callable[[Path], None]
) -> None:
    environment = team / "api.env"
    environment.unlink()
    kind(environment)
    write(launches, "another")
    assert "another" in environment.read_text()
    assert stat.S_IMODE(environment.stat().st_mode) == 0o600
    launches.forget_agent("api")
    assert not os.path.lexists(environment)


class TestADirectoryThatIsALink:
    @pytest.fixture(autouse=True)
    def _link(self, launches: LaunchFiles, team: Path, elsewhere: Path) -> None:
        launches.forget_team()
        team.symlink_to(elsewhere)

    def test_nothing_behind_it_is_removed(self, launches: LaunchFiles, team: Path, elsewhere: Path) -> None:
        before = sorted(os.listdir(elsewhere))
        launches.gate_passed("api", RUN)
        launches.forget_run("api", RUN)
        launches.forget_agent("api")
        launches.forget_team()
        assert not os.path.lexists(team)
        assert sorted(os.listdir(elsewhere)) == before

    def test_nothing_is_written_behind_it(self, launches: LaunchFiles, team: Path, elsewhere: Path) -> None:
        write(launches)
        assert not team.is_symlink()
        assert file(team, "").is_file()
        assert all((elsewhere / name).read_text() == "7 1" for name in os.listdir(elsewhere))


@pytest.mark.parametrize("kind", [pipe, socket_file, dangling_link, link_to_itself])
def test_a_directory_that_is_something_else_goes_and_is_made_anew(
    launches: LaunchFiles, team: Path, kind: Callable[[Path], None]
) -> None:
    launches.forget_team()
    kind(team)
    launches.forget_run("api", RUN)
    launches.forget_team()
    assert not os.path.lexists(team)
    kind(team)
    write(launches)
    assert file(team, "").is_file()


def test_a_link_inside_is_removed_and_not_what_it_leads_to(
    launches: LaunchFiles, team: Path, elsewhere: Path, own_directory: Path
) -> None:
    (team / "link").symlink_to(elsewhere)
    own = own_directory / "own" / RUN
    own.rmdir()
    own.symlink_to(elsewhere)
    launches.forget_team()
    assert not os.path.lexists(team)
    assert not os.path.lexists(own)
    assert (elsewhere / "precious").exists()


@pytest.mark.parametrize("mode", [0, 0o500])
def test_a_directory_whose_rights_were_taken_away_is_removed(launches: LaunchFiles, team: Path, mode: int) -> None:
    os.chmod(team, mode)
    launches.forget_run("api", RUN)
    launches.forget_team()
    assert not os.path.lexists(team)


def test_without_a_terminal_a_run_asks_nobody_and_ends_with_its_program(own_directory: Path) -> None:
    launches = LaunchFiles(str(own_directory / "launch"), str(own_directory / "own"))
    path = launches.write(
        agent="api", run=RUN, command=["sh", "-c", "cat; echo no >&2; exit 5"], shell=False, working_directory="/",
        environment={"KEY": "x"}, gated=False, note="", terminal=False,
    )  # fmt: skip
    done = subprocess.run(
        ["/bin/sh", path], input=b"yes ", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    assert (done.stdout, done.returncode) == (b"yes no\n", 5)
    assert launches.exit_code("api", RUN) == 5


#: Programs that are `/bin/sh` somewhere, each as it is called there.
SHELLS = [shell for shell in (["dash"], ["bash", "--posix"], ["busybox", "sh"]) if shutil.which(shell[0])]


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
@pytest.mark.parametrize(
    "environment",
    [
        {"IFS": "0"},
        {"IFS": "2 1"},
        {"begun": "x", "status": "y", "killed": "z"},
        {"UID": "4711", "EUID": "1", "PPID": "1", "SHELLOPTS": "xtrace", "BASHOPTS": "x", "BASH_VERSINFO": "x"},
        {"CDPATH": "/usr", "PATH": "/nowhere", "ENV": "/no/such/file", "POSIXLY_CORRECT": "1"},
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("begins", [True, False])
def test_no_variable_of_an_agent_changes_how_its_launch_goes(
    own_directory: Path, shell: list[str], environment: dict[str, str], begins: bool
) -> None:
    launches = LaunchFiles(str(own_directory / "launch"), str(own_directory / "own"))
    program = [sys.executable, "-c", "import os; print(sorted(os.environ.items())); raise SystemExit(22)"]
    path = launches.write(
        agent="api", run=RUN, command=program, shell=False, working_directory="/" if begins else "/no/such/place",
        environment={**environment, "OTHER": "it's"}, gated=False, note="", terminal=False,
    )  # fmt: skip
    at = shutil.which(shell[0])
    assert at is not None
    done = subprocess.run([at, *shell[1:], path], capture_output=True, text=True, check=False)
    assert done.returncode == (22 if begins else 126), done.stderr
    assert launches.exit_code("api", RUN) == done.returncode
    assert ("/no/such/place" in done.stderr) is not begins
    if begins:
        found = dict(ast.literal_eval(done.stdout))
        own = {"UID", "EUID", "PPID", "SHELLOPTS", "BASHOPTS", "BASH_VERSINFO"} if shell[0] == "bash" else set()
        for name, value in {**environment, "OTHER": "it's"}.items():
            assert name in own or found[name] == value
        if "UID" in environment and own:
            assert found["UID"] == str(os.getuid())
        assert launches.environment_of("api") == {**environment, "OTHER": "it's"}


@pytest.mark.parametrize("text", ["", "7", "x y", "7 1 2", "-1 0", "256 0", f"{1 << 70} 0", f"0 {1 << 70}", "9" * 5000])
def test_an_exit_code_that_cannot_be_one_is_none(launches: LaunchFiles, team: Path, text: str) -> None:
    file(team, ".exit").write_text(text)
    assert launches.exit_code("api", RUN) is None


@pytest.mark.parametrize(
    "text", ["", "# 5", "# {}", '# [1, 2, ""]', '# [["a"], true, 3]', "# " + "[" * 100000, "\udcff"]
)
def test_a_launch_file_that_is_not_ours_tells_nothing(launches: LaunchFiles, team: Path, text: str) -> None:
    file(team, "").write_text(text, encoding="utf-8", errors="surrogateescape")
    assert launches.command_of("api", RUN) is None
    assert launches.note_of("api", RUN) == ""


def test_an_honest_run_is_told_of(launches: LaunchFiles, team: Path) -> None:
    file(team, ".exit").write_text("7 1\n")
    assert (launches.exit_code("api", RUN), launches.oom_kills("api", RUN)) == (7, 1)
    assert launches.command_of("api", RUN) == (("sleep", "1"), False)
    assert launches.note_of("api", RUN) == "a note"


@settings(max_examples=40)
@given(st.dictionaries(st.from_regex(r"X[A-Za-z0-9_]{0,8}", fullmatch=True), st.text(max_size=30), max_size=5))
def test_an_environment_is_read_back_as_it_was_written(environment: dict[str, str]) -> None:
    environment = {name: value.replace("\0", "") for name, value in environment.items()}
    with tempfile.TemporaryDirectory() as directory:
        launches = LaunchFiles(f"{directory}/launch", f"{directory}/own")
        launches.write(
            agent="a", run=RUN, command=["true"], shell=False, working_directory="/", environment=environment,
            gated=False, note="",
        )  # fmt: skip
        assert launches.environment_of("a") == (environment or None)
        shown = subprocess.run(
            ["env", "-i", "sh", "-c", f". {directory}/launch/a.env; env -0"], capture_output=True, check=True
        ).stdout
        seen = dict(entry.split("=", 1) for entry in os.fsdecode(shown).split("\0") if entry)
        assert {name: seen[name] for name in environment} == environment


def test_an_environment_that_is_gone_is_none(launches: LaunchFiles) -> None:
    assert launches.environment_of("nobody") is None


def credential_for(run: str) -> str:
    return credentials.issue(Names(instance="i1", team="shop", agent="api", run=run), f"secret-of-{run}")


def start(files: LaunchFiles, run: str, credential: str) -> str:
    return files.write(
        agent="api",
        run=run,
        command=["sh", "-c", 'cat "$CORRAL_CREDENTIAL_FILE"'],
        shell=False,
        working_directory="/",
        environment={},
        gated=False,
        note="",
        terminal=False,
        credential=credential,
    )


def test_a_run_finds_its_credential_in_a_file_that_is_its_own(launches: LaunchFiles, team: Path) -> None:
    path = start(launches, RUN, credential_for(RUN))
    assert (
        subprocess.run(["/bin/sh", path], capture_output=True, text=True, check=True).stdout
        == credential_for(RUN) + "\n"
    )
    assert stat.S_IMODE((team / "api.credential").stat().st_mode) == 0o600
    assert launches.credential_of("api") == credential_for(RUN)
    assert [one.name for one in team.iterdir() if one.is_file() and credential_for(RUN) in one.read_text()] == [
        "api.credential"
    ]


def test_a_run_without_a_credential_is_told_of_none(launches: LaunchFiles, team: Path) -> None:
    path = start(launches, RUN, "")
    assert "export CORRAL_CREDENTIAL_FILE" not in Path(path).read_text()
    assert launches.credential_of("api") == ""


def test_a_credential_goes_with_its_run_and_with_no_other(launches: LaunchFiles, team: Path) -> None:
    start(launches, RUN, credential_for(RUN))
    start(launches, "ba9876543210", credential_for("ba9876543210"))
    launches.forget_run("api", RUN)
    assert launches.credential_of("api") == credential_for("ba9876543210")
    launches.forget_run("api", "ba9876543210")
    assert not (team / "api.credential").exists()


def test_a_link_in_the_place_of_a_credential_is_not_written_through(
    launches: LaunchFiles, team: Path, elsewhere: Path
) -> None:
    (team / "api.credential").symlink_to(elsewhere / "precious")
    assert launches.credential_of("api") == ""
    start(launches, RUN, credential_for(RUN))
    assert (elsewhere / "precious").read_text() == "7 1"
    assert launches.credential_of("api") == credential_for(RUN)
