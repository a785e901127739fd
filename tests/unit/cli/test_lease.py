"""`corral lease check`: asked before every write, so it says little and loads little."""

import subprocess
import sys

import pytest

from tests.unit.cli.conftest import Corral
from tests.unit.client.fake_daemon import FakeDaemon, document, refusal, whole

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
    daemon.answer("POST", "/v1/leases/check", document(FREE))
    assert corral("lease", "check", "README.md").code == 0
    assert daemon.last.query.get("agent") == (["b"] if instance == "i1" else None)


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
