"""`corral lease check`: asked before every write, so it says little and loads little."""

import subprocess
import sys

import pytest

from tests.unit.cli.conftest import Corral
from tests.unit.client.fake_daemon import FakeDaemon, document, refusal

FREE = {"free": True, "paths": ["README.md"]}


def test_free_or_mine_is_0_and_held_is_4(corral: Corral, daemon: FakeDaemon) -> None:
    daemon.answer("GET", "/v1/leases/check", document(FREE))
    done = corral("lease", "check", "--agent", "shop/a", "README.md")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert daemon.last.query["path"] == ["README.md"]
    assert corral("lease", "check", "--agent", "shop/a", "README.md", "--json").json == FREE
    daemon.answer("GET", "/v1/leases/check", refusal(409, "refused", "shop/b holds README.md", "wait for it"))
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
    daemon.answer("GET", "/v1/leases/check", document(FREE))
    assert corral("lease", "check", "README.md").code == 0
    assert daemon.last.query.get("agent") == (["b"] if instance == "i1" else None)


def test_it_loads_no_parser_and_no_wrapper_if_all_is_well(daemon: FakeDaemon) -> None:
    """Each of these takes as long to load as all the rest together."""
    daemon.answer("GET", "/v1/leases/check", document(FREE))
    program = (
        "import sys; from corral.cli.main import main; code = main(['lease', 'check', '--agent', 'shop/a', 'README']);"
        "print(code, *sorted({'json', 're', 'enum', 'socket', 'collections', 'argparse', 'typing'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
