"""script/audit.py: what is known to be weak fails it, and what could not be asked about is never called safe."""

import http.server
import importlib.util
import json
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
HASH = "--hash=sha256:" + 64 * "a"


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("audit_of_locks", ROOT / "script" / "audit.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def index(documents: dict[str, Any]) -> Iterator[str]:
    """A package index that has these documents by path; a number is the status of an answer without one."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = documents.get(self.path, 404)
            self.send_response(found if isinstance(found, int) else 200)
            body = b"" if isinstance(found, int) else json.dumps(found).encode()
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing is said about requests."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    serving = threading.Thread(target=server.serve_forever, args=(0.02,))
    serving.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


def told(version: str, *vulnerabilities: dict[str, Any]) -> dict[str, object]:
    return {"info": {"version": version}, "vulnerabilities": list(vulnerabilities)}


def run(
    directory: Path, documents: dict[str, Any], capsys: pytest.CaptureFixture[str], lock: str = "", **environment: str
) -> tuple[int, str]:
    path = directory / "requirements.lock"
    path.write_text(lock or f"# Made.\ncalm==1.0 ; sys_platform != 'x' \\\n    {HASH}\n", encoding="utf-8")
    with index(documents) as address:
        code = script().main([str(path)], {"CORRAL_AUDIT_URL": address, **environment})
    return code, capsys.readouterr().out


def test_a_known_vulnerability_of_the_locked_version_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weak = {"id": "PYSEC-1", "fixed_in": ["1.1"], "summary": "reads too much"}
    gone = {"id": "PYSEC-2", "withdrawn": "2026-01-01T00:00:00Z"}
    code, said = run(tmp_path, {"/calm/1.0/json": told("1.0", weak, gone)}, capsys)
    assert code == 1
    assert "VULNERABLE: calm 1.0: PYSEC-1, mended in 1.1: reads too much" in said
    assert "PYSEC-2" not in said


def test_nothing_known_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, {"/calm/1.0/json": told("1.0")}, capsys, CORRAL_AUDIT="require")[0] == 0


def test_an_index_that_has_only_the_newest_is_believed_about_that_one_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, {"/calm/json": told("1.0")}, capsys) == (
        0,
        "1 packages: 1 audited, 0 vulnerabilities known\n",
    )
    weak = told("1.0", {"id": "PYSEC-1"})
    assert run(tmp_path, {"/calm/json": weak}, capsys)[0] == 1
    code, said = run(tmp_path, {"/calm/json": told("2.0")}, capsys)
    assert code == 0
    assert "NOT AUDITED: calm 1.0: the index tells only about 2.0" in said
    assert "0 audited" in said
    assert run(tmp_path, {"/calm/json": told("2.0")}, capsys, CORRAL_AUDIT="require")[0] == 1


@pytest.mark.parametrize(
    "documents",
    [
        {},
        {"/calm/1.0/json": 503},
        {"/calm/1.0/json": ["what is this"]},
        {"/calm/1.0/json": {"info": {"version": "1.0"}}},
    ],
)
def test_what_could_not_be_asked_about_is_named_and_fails_where_it_is_required(
    documents: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = run(tmp_path, documents, capsys)
    assert code == 0
    assert "NOT AUDITED: calm 1.0: the index" in said
    assert run(tmp_path, documents, capsys, CORRAL_AUDIT="require")[0] == 1


def test_an_index_that_has_moved_on_is_reached_and_one_that_tells_nothing_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = "".join(f"{name}==1.0 {HASH}\n" for name in ("calm", "dusk"))
    code, said = run(
        tmp_path, {"/calm/json": told("2.0"), "/dusk/json": told("1.0")}, capsys, lock, CORRAL_AUDIT="reach"
    )
    assert (code, "NOT AUDITED: calm 1.0" in said) == (0, True)
    code, said = run(tmp_path, {"/calm/1.0/json": 503, "/dusk/1.0/json": 503}, capsys, lock, CORRAL_AUDIT="reach")
    assert (code, "does not answer: try again" in said) == (1, True)
    many = "".join(f"{name}==1.0 {HASH}\n" for name in "abcde")
    documents = {"/a/1.0/json": told("1.0"), **{f"/{name}/1.0/json": 503 for name in "bcde"}}
    assert run(tmp_path, documents, capsys, many, CORRAL_AUDIT="reach")[0] == 1, "it gave up"


def test_an_index_that_is_not_there_is_said_and_not_asked_for_ever(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = "".join(f"p{number}==1 \\\n    {HASH}\n" for number in range(40))
    code, said = run(tmp_path, {}, capsys, lock, CORRAL_AUDIT_URL="http://127.0.0.1:1")
    assert code == 0
    assert said.count("NOT AUDITED") == 40
    assert "the index does not answer" in said
    assert run(tmp_path, {}, capsys, lock, CORRAL_AUDIT_URL="http://127.0.0.1:1", CORRAL_AUDIT="require")[0] == 1


@pytest.mark.parametrize("entry", ["calm>=1.0", f"calm {HASH}", "calm==1.0", "-e .", "calm @ file:///tmp/calm"])
def test_what_is_not_pinned_and_hashed_fails_also_without_a_network(
    entry: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = run(tmp_path, {}, capsys, f"{entry}\nother==2.0 \\\n    {HASH}\n", CORRAL_AUDIT="off")
    assert code == 1
    assert f"NOT PINNED: requirements.lock: {entry.split(' ', maxsplit=1)[0]} lacks" in said


def test_the_locks_of_this_repository_are_pinned_and_hashed() -> None:
    locks = sorted(ROOT.glob("requirements*.lock"))
    assert len(locks) == 3
    for lock in locks:
        text = lock.read_text(encoding="utf-8")
        assert script().loose(text) == []
        assert len(script().pinned(text)) == len(re.findall(r"^\S+==", text, re.MULTILINE))


@pytest.mark.parametrize("environment", [{"CORRAL_AUDIT": "maybe"}, {"CORRAL_AUDIT_URL": "file:///etc"}])
def test_a_setting_that_nobody_knows_is_wrong_use(environment: dict[str, str]) -> None:
    assert script().main([], environment) == 2
