"""`corral lease check`: asked before every write, so it says little and loads little."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Corral
from tests.unit.client.fake_daemon import FakeDaemon, document, refusal, table, whole

FREE = {"free": True, "paths": ["README.md"]}


def test_free_or_mine_is_0_and_held_is_4(corral: Corral, daemon: FakeDaemon) -> None:
    daemon.answer("POST", "/v1/leases/check", document(FREE))
    done = corral("lease", "check", "--agent", "shop/a", "README.md")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert daemon.last.body == b"README.md\0"
    assert corral("lease", "check", "--agent", "shop/a", "README.md", "--json").json == FREE
    daemon.answer("POST", "/v1/leases/check", refusal(409, "refused", "shop/b holds README.md", "wait for it"))
    done = corral("lease", "check", "--agent", "shop/a", "README.md")
    assert done.code == 4
    assert "shop/b holds README.md" in done.err
    assert corral("lease", "check", "--agent", "shop/a", "README.md", "--json").error["code"] == "refused"


@pytest.mark.parametrize("instance", ["i1", "another"])
def test_in_an_agent_it_is_asked_in_its_name_if_it_is_of_this_instance(
    corral: Corral, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch, instance: str
) -> None:
    for name, value in (("TEAM", "shop"), ("AGENT", "b"), ("INSTANCE", "i1")):
        monkeypatch.setenv(f"CORRAL_{name}", value)
    # As the daemon writes it, without spaces.
    body = f'{{"version":"1","instance":"{instance}"}}'.encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\n\r\n".encode()
    daemon.answer("GET", "/v1/health", head + body)
    daemon.answer("GET", "/v1/agents", table("shop b running"))
    daemon.answer("POST", "/v1/leases/check", document(FREE))
    assert corral("lease", "check", "README.md").code == 0
    assert daemon.last.query.get("agent") == (["b"] if instance == "i1" else None)


@pytest.mark.parametrize("words", [["check"], ["acquire"], ["wait", "--wait", "1"]])
def test_a_path_from_the_current_directory_is_noted_and_goes_out_as_it_is(
    corral: Corral, daemon: FakeDaemon, own_directory: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    inner = own_directory / "src" / "api"
    inner.mkdir(parents=True)
    (own_directory / ".git").mkdir()
    (inner / "users.py").touch()
    (inner / "models").mkdir()
    for path in ("/v1/leases/check", "/v1/leases", "/v1/leases/wait"):
        daemon.answer("POST", path, document(FREE))

    def noted(*paths: str) -> str:
        done = corral("lease", *words, "--agent", "shop/a", *paths)
        assert done.code == 0
        assert os.fsencode(paths[0]) in daemon.last.body
        return done.err

    assert noted("users.py") == "", "at the top, there is no other way to mean it"
    monkeypatch.chdir(inner)
    assert "write src/api/users.py\n" in noted("users.py")
    assert "write src/api/models/ (1 more are so)\n" in noted("models/", "users.py")
    assert noted("src/api/users.py", "nowhere.py") == ""
    done = corral("lease", *words, "--agent", "shop/a", "--json", "users.py")
    assert done.err == "", "a program gets nothing that is no JSON"
    (own_directory / "users.py").touch()
    assert noted("users.py") == ""


def test_many_paths_go_out_in_one_request(corral: Corral, daemon: FakeDaemon) -> None:
    daemon.answer("POST", "/v1/leases/check", document(FREE))
    names = [f"src/{number}.py" for number in range(5000)]
    assert corral("lease", "check", "--agent", "shop/a", *names).code == 0
    assert daemon.last.body == "".join(f"{name}\0" for name in names).encode()


def test_what_is_too_long_is_told_before_anybody_is_asked(corral: Corral) -> None:
    done = corral("lease", "check", "--agent", "shop/a", "a" * 100_000)
    assert (done.code, "100000 characters" in done.err) == (2, True)


def test_a_daemon_that_cannot_read_a_request_need_not_be_restarted(corral: Corral, daemon: FakeDaemon) -> None:
    daemon.answer("POST", "/v1/leases/check", whole(b"Invalid HTTP request received.", 400, "text/plain"))
    done = corral("lease", "check", "--agent", "shop/a", "README.md")
    assert (done.code, "daemon stop" in done.err) == (2, False)


def test_a_pattern_takes_one_line_of_the_list(corral: Corral, daemon: FakeDaemon) -> None:
    one = {"lease": "l1", "agent": "shop/a", "mode": "exclusive", "since": "now", "patterns": ["a\nb\tc"]}
    daemon.answer("GET", "/v1/leases", document({"leases": [one]}))
    done = corral("lease", "ls", "--team", "shop")
    assert [line.split()[-1] for line in done.out.splitlines()] == ["WHAT", "a\\nb\\tc"]


def test_it_loads_no_parser_and_no_wrapper_if_all_is_well(daemon: FakeDaemon) -> None:
    """Each of these takes as long to load as all the rest together."""
    daemon.answer("POST", "/v1/leases/check", document(FREE))
    program = (
        "import sys; from corral.cli.main import main; code = main(['lease', 'check', '--agent', 'shop/a', 'README']);"
        "print(code, *sorted({'json', 're', 'enum', 'socket', 'collections', 'argparse', 'typing'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"


@pytest.mark.parametrize("ttl", ["0", "0s"])
@pytest.mark.parametrize("words", [["lease", "acquire", "x"], ["lock", "x", "--", "true"]])
def test_a_time_that_cannot_be_is_told_before_anybody_is_asked(corral: Corral, words: list[str], ttl: str) -> None:
    done = corral(*words[:2], "--agent", "shop/a", "--ttl", ttl, *words[2:])
    assert (done.code, "--ttl" in done.err, "validation" in done.err) == (2, True, False)
    assert "30s" in done.err


def test_what_is_released_in_an_agents_name_counts_as_lost_and_help_says_so(corral: Corral) -> None:
    told = " ".join(corral("lease", "release", "--help").out.split())
    assert "with --agent and without its token, it is taken away from under it and counts as lost" in told


def test_each_that_cannot_be_released_is_told(corral: Corral, daemon: FakeDaemon) -> None:
    for lease, status, code in (("l1", 404, "not_found"), ("l2", 409, "refused")):
        daemon.answer("POST", f"/v1/leases/{lease}/release", refusal(status, code, f"about {lease}", f"help {lease}"))
    daemon.answer("POST", "/v1/leases/l3/release", document({"lease": "l3"}))
    words = ("lease", "release", "--agent", "shop/a", "l1", "l3", "l2")
    done = corral(*words)
    assert (done.code, done.out) == (3, "l3: released\n")
    assert done.err == "corral: about l1\n  → help l1\ncorral: about l2\n  → help l2\n"
    error = corral(*words, "--json").error
    assert (error["code"], error["message"]) == ("not_found", "about l1")
    assert error["others"] == [{"code": "refused", "message": "about l2", "remedy": "help l2"}]


def test_what_is_held_is_on_one_line_with_until_when(corral: Corral, daemon: FakeDaemon) -> None:
    lease = {
        "lease": "l1",
        "token": 1,
        "patterns": ["a\nb"],
        "mode": "shared",
        "agent": "shop/a",
        "expires_at": "LATER",
    }
    daemon.answer("POST", "/v1/leases", document(lease))
    assert corral("lease", "acquire", "--agent", "shop/a", "a\nb").out == "l1  token 1  a\\nb  until LATER\n"
    daemon.answer("GET", "/v1/leases", document({"leases": [{**lease, "since": "NOW", "suspect": True}]}))
    head, row = corral("lease", "ls").out.splitlines()
    assert head.split() == ["LEASE", "HOLDER", "MODE", "SINCE", "UNTIL", "WHAT"]
    assert row.split() == ["l1", "shop/a", "(suspect)", "shared", "NOW", "LATER", "a\\nb"]
