"""A trail that is meddled with while the daemon runs: it refuses to go on, and `verify` asks it how far it got."""

from pathlib import Path

import pytest

from tests.faults.support.population import kill_daemon
from tests.support.audited import listed, start_audited
from tests.support.instance import Instance


@pytest.fixture
def audited(instance: Instance) -> Instance:
    return start_audited(instance)


def _files(instance: Instance, ending: str) -> list[Path]:
    return sorted(Path(instance.home, "audit").glob(f"*{ending}"))


def test_a_daemon_whose_trail_is_unlinked_does_nothing_more(audited: Instance) -> None:
    assert audited.json("audit", "verify")["ok"] is True
    for path in (*_files(audited, ".jsonl"), *_files(audited, ".checkpoints")):
        path.unlink()
    # What acts is refused at once; what is read, from the next on: it is written down when it is answered.
    for words in (("kv", "put", "-t", "nobody", "a", "b"), ("ps",), ("daemon", "stop")):
        code, error = audited.error(*words)
        assert (code, error["code"]) == (7, "broken_trail")
        assert "was removed while the daemon writes to it" in error["message"]
    report = audited.json("audit", "verify", check=False)
    assert {flaw["what"] for flaw in report["flaws"]} == {"cut_off", "replaced"}
    log = Path(audited.home, "daemon.log").read_text()
    assert "was removed while the daemon writes to it" in log
    kill_daemon(audited)


def test_the_running_daemon_knows_of_entries_that_were_cut_off(audited: Instance) -> None:
    audited.run("ps")
    listed(audited, 1, "--verb", "list_agents")
    head = audited.json("daemon", "status")["audit"]
    (path,), (signed,) = _files(audited, ".jsonl"), _files(audited, ".checkpoints")
    path.write_bytes(b"".join(path.read_bytes().splitlines(True)[:1]))
    signed.write_bytes(b"".join(signed.read_bytes().splitlines(True)[:1]))
    code, error = audited.error("audit", "verify")
    assert (code, error["code"]) == (7, "broken_trail")
    flaws = audited.json("audit", "verify", check=False)["flaws"]
    assert any("the daemon" in flaw["message"] for flaw in flaws)
    assert head["number"] >= 2
    copy = Path(audited.directory, "copy")
    copy.mkdir()
    for one in Path(audited.home, "audit").iterdir():
        (copy / one.name).write_bytes(one.read_bytes())
    # Of a copy elsewhere nobody here knows anything.
    assert audited.json("audit", "verify", "--directory", str(copy))["ok"] is True
    kill_daemon(audited)


def test_without_a_daemon_verify_says_what_it_cannot_know(audited: Instance) -> None:
    assert not any("no daemon" in said for said in audited.json("audit", "verify")["remarks"])
    audited.run("daemon", "stop")
    report = audited.json("audit", "verify")
    assert report["ok"] is True
    assert any("no daemon runs here" in said for said in report["remarks"])
