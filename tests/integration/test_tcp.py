"""A real daemon on TCP: who is let in with which token, and what the network can do to it."""

import json
import os
import resource
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.integration.test_raw_requests import MALFORMED, said
from tests.support.certificates import Authority
from tests.support.instance import Instance
from tests.support.sharing import Sharing
from tests.support.waiting import wait_for

HEALTH = "GET /v1/health HTTP/1.1\r\nHost: x\r\n{}\r\n"


@dataclass
class Reached:
    """An instance that listens on TCP as well, with a token of its person."""

    instance: Instance
    url: str
    token: str
    token_id: str
    file: Path
    ca: Path | None = None

    @property
    def port(self) -> int:
        return int(urlsplit(self.url).port or 0)

    def env(self, **more: str) -> dict[str, str]:
        ca = {} if self.ca is None else {"CORRAL_CA_FILE": str(self.ca)}
        return {"CORRAL_URL": self.url, "CORRAL_TOKEN_FILE": str(self.file), **ca, **more}

    def far(self, *words: str, **env: str) -> Any:
        """What a command says from afar, as JSON."""
        return json.loads(self.instance.run(*words, "--json", env=self.env(**env)).stdout)

    def fails(self, *words: str, **env: str) -> tuple[int, dict[str, Any]]:
        """How a command fails from afar."""
        done = self.instance.run(*words, "--json", env=self.env(**env), check=False)
        assert done.returncode != 0, done.stdout
        return done.returncode, json.loads(done.stderr)["error"]

    def connect(self) -> socket.socket:
        plain = socket.create_connection(("127.0.0.1", self.port), 60)
        if self.ca is None:
            return plain
        return ssl.create_default_context(cafile=str(self.ca)).wrap_socket(plain, server_hostname="localhost")

    def asked(self, request: str) -> bytes:
        """What is answered, until the daemon hangs up."""
        with self.connect() as connection:
            connection.sendall(request.encode())
            return said(connection)

    def bearer(self, token: str | None = None, more: str = "Connection: close\r\n") -> str:
        return HEALTH.format(f"Authorization: Bearer {token or self.token}\r\n{more}")

    def refusals(self) -> list[dict[str, Any]]:
        """What the trail has of who was refused over TCP."""
        listed = self.instance.run("audit", "ls", "--json", "--denied", "-n", "all").stdout.splitlines()
        found = json.loads(listed[0]) if len(listed) == 1 and listed[0].startswith("[") else [*map(json.loads, listed)]
        return [one for one in found if one["rule"] == "identity"]


def make_token(instance: Instance, *options: str) -> tuple[dict[str, Any], Path]:
    file = Path(instance.directory, f"token-{time.monotonic_ns()}")
    return instance.json("token", "add", "--file", str(file), *options), file


def listening(instance: Instance, settings: str) -> str:
    """Start the daemon anew with these settings; where it listens."""
    instance.run("daemon", "stop")
    Path(instance.home, "config.toml").write_text(f"[audit]\nenabled = true\n[listen]\n{settings}\n")
    instance.run("daemon", "start")
    (url,) = instance.json("daemon", "status")["listening"]
    return str(url)


@pytest.fixture(params=["http", "https"])
def reached(request: pytest.FixtureRequest, instance: Instance, tmp_path: Path) -> Reached:
    made, file = make_token(instance, "--note", "laptop")
    settings, ca = 'address = "127.0.0.1:0"', None
    if request.param == "https":
        authority = Authority(tmp_path)
        cert, key = authority.host("localhost", "127.0.0.1")
        settings, ca = f'{settings}\ntls_cert = "{cert}"\ntls_key = "{key}"', authority.file
    url = listening(instance, settings)
    assert url.startswith(f"{request.param}://127.0.0.1:")
    return Reached(instance, url, file.read_text().strip(), made["id"], file, ca)


@pytest.fixture
def plain(instance: Instance) -> Reached:
    made, file = make_token(instance)
    url = listening(instance, 'address = "127.0.0.1:0"')
    return Reached(instance, url, file.read_text().strip(), made["id"], file)


@pytest.fixture
def secure(instance: Instance, tmp_path: Path) -> Reached:
    made, file = make_token(instance)
    authority = Authority(tmp_path)
    cert, key = authority.host("localhost", "127.0.0.1")
    url = listening(instance, f'address = "127.0.0.1:0"\ntls_cert = "{cert}"\ntls_key = "{key}"')
    return Reached(instance, url, file.read_text().strip(), made["id"], file, authority.file)


def test_whoever_has_a_token_is_its_person_and_the_trail_names_the_token(reached: Reached) -> None:
    assert reached.far("daemon", "status")["running"] is True
    assert reached.far("ps") == []
    listed = reached.instance.run("audit", "ls", "--json", "-n", "all").stdout
    assert f"tcp:{reached.token_id}" in listed
    assert reached.token not in listed
    (row,) = reached.instance.json("token", "ls")
    assert (row["state"], row["note"], row["used"] is not None) == ("valid", "laptop", True)
    kept = (Path(reached.instance.home, "corral.db"), Path(reached.instance.home, "daemon.log"))
    assert not [path for path in kept if reached.token.encode() in path.read_bytes()]
    assert reached.token not in reached.instance.run("events", "-n", "all", "--json").stdout


def test_whoever_has_none_that_is_good_is_refused_and_told_of(reached: Reached) -> None:
    other = reached.token[:-1] + ("A" if reached.token[-1] != "A" else "B")
    for header in (
        "",
        "Authorization: Basic cm9vdDpyb290\r\n",
        "Authorization: Bearer x\r\n",
        f"Authorization: Bearer {other}\r\n",
        f"Authorization: Bearer {reached.token}\r\nX-Corral-Agent: shop/a\r\n",
        f"Authorization: Bearer {reached.token}\r\nX-Corral-Credential: corral.1.shop.a.2.x\r\n",
    ):
        answer = reached.asked(HEALTH.format(header + "Connection: close\r\n"))
        status = b"409" if "X-Corral" in header else b"401"
        assert answer.startswith(b"HTTP/1.1 " + status), answer
        assert b'"instance"' not in answer
    told = reached.refusals()
    assert {one["detail"]["why"] for one in told} == {
        "without a token",
        "with something that is no token",
        "with a token that there is not, or not any more",
        "in the name of the agent shop/a, and over TCP nobody is an agent",
        "with the credential of an agent, and over TCP nobody is an agent",
    }
    assert {one["detail"]["from"] for one in told} == {"127.0.0.1"}
    assert {one["who"]["via"] for one in told} == {"tcp"}


def test_a_refused_one_is_told_of_and_the_next_hundred_are_counted(plain: Reached) -> None:
    for _ in range(100):
        assert plain.asked(HEALTH.format("")).startswith(b"HTTP/1.1 401")
    assert len(plain.refusals()) == 1
    plain.instance.run("daemon", "stop")
    plain.instance.run("daemon", "start")
    assert [one["detail"].get("more") for one in plain.refusals()] == [None, 99]


def test_a_revoked_token_is_dead_at_once_also_on_connections_that_are_open(reached: Reached) -> None:
    with reached.connect() as idle, reached.connect() as following:
        idle.sendall(reached.bearer(more="").encode())
        assert idle.recv(65536).startswith(b"HTTP/1.1 200")
        head = f"GET /v1/events?follow=1&lines=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {reached.token}\r\n\r\n"
        following.sendall(head.encode())
        assert following.recv(65536).startswith(b"HTTP/1.1 200")
        reached.instance.run("token", "rm", reached.token_id)
        for connection in (following, idle):
            assert hung_up(connection)
    code, error = reached.fails("ps")
    assert (code, error["code"]) == (4, "unauthorised")
    assert reached.instance.json("token", "ls") == []


def hung_up(connection: socket.socket) -> bool:
    """Read until the other end is gone, which it must be soon."""
    connection.settimeout(20)
    try:
        while connection.recv(65536):
            pass
    except (ConnectionResetError, ssl.SSLError):
        return True
    return True


def test_a_token_that_has_expired_lets_nobody_in_and_stays_in_the_list(plain: Reached) -> None:
    # A minute is the shortest that a token is good for: the store is told that it is over.
    made, file = make_token(plain.instance, "--expires", "60s")
    plain.instance.run("daemon", "stop")
    shorten(plain.instance, made["id"], time.time() - 1)
    plain.instance.run("daemon", "start")
    (plain.url,) = plain.instance.json("daemon", "status")["listening"]
    assert plain.asked(plain.bearer(file.read_text().strip())).startswith(b"HTTP/1.1 401")
    assert plain.asked(plain.bearer()).startswith(b"HTTP/1.1 200")
    states = {one["id"]: one["state"] for one in plain.instance.json("token", "ls")}
    assert states == {plain.token_id: "valid", made["id"]: "expired"}


def shorten(instance: Instance, id_: str, expires: float) -> None:
    import sqlite3

    with sqlite3.connect(Path(instance.home, "corral.db")) as db:
        (value,) = db.execute("SELECT value FROM records WHERE kind = 'token' AND key = ?", (id_,)).fetchone()
        changed = {**json.loads(value), "expires": expires}
        db.execute("UPDATE records SET value = ? WHERE kind = 'token' AND key = ?", (json.dumps(changed).encode(), id_))
    db.close()


def test_what_only_people_may_do_and_what_is_of_the_host_is_refused_with_a_remedy(plain: Reached) -> None:
    for words in (("attach", "a"), ("up",), ("daemon", "stop"), ("doctor",), ("policy", "show")):
        code, error = plain.fails(*words)
        assert (code, error["code"]) == (2, "wrong_use")
        assert "ssh" in error["remedy"]
    for refused in (("token", "add"), ("inbox", "approve", "1")):
        code, error = plain.fails(*refused)
        assert (code, error["code"]) == (4, "refused"), refused
        assert "ssh" in error["remedy"]
    assert plain.instance.json("daemon", "status")["running"] is True


def test_hooks_ask_the_daemon_of_their_own_host(instance: Instance, tmp_path: Path) -> None:
    team = Sharing(instance, tmp_path / "project")
    said = {"session_id": "s", "cwd": str(team.project), "hook_event_name": "PreToolUse", "tool_name": "Read",
            "tool_input": {"file_path": str(team.file)}}  # fmt: skip
    done = team.hook("a", "PreToolUse", said, CORRAL_URL="http://127.0.0.1:1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_agent_makes_no_token_for_its_person(instance: Instance) -> None:
    instance.spec('[team]\nname = "shop"\n[agents.a]\nworkspace = "shared"\ncommand = ["sleep", "1000"]\n')
    instance.run("up")
    done = instance.run("exec", "a", "--", "sh", "-c", '"$CORRAL_PROGRAM" token add --json', check=False)
    assert done.returncode == 4, done.stdout + done.stderr
    assert "for people" in done.stdout + done.stderr
    assert instance.json("token", "ls") == []


def test_a_token_file_that_others_can_read_is_not_used(plain: Reached) -> None:
    plain.file.chmod(0o640)
    code, error = plain.fails("ps")
    assert (code, error["code"]) == (4, "refused")
    assert "open to others" in error["message"]


@pytest.mark.parametrize(
    ("env", "code", "says"),
    [
        ({"CORRAL_TOKEN_FILE": ""}, 2, "CORRAL_TOKEN_FILE is not"),
        ({"CORRAL_TOKEN_FILE": "/nowhere/at/all"}, 2, "cannot be read"),
        ({"CORRAL_TOKEN_FILE": "/dev/null"}, 2, "is no file"),
        ({"CORRAL_URL": "ftp://127.0.0.1"}, 2, "no address"),
        ({"CORRAL_URL": "http://127.0.0.1:1/x?y"}, 2, "more in it"),
        ({"CORRAL_URL": "http://127.0.0.1:1"}, 6, "nobody answers"),
    ],
)
def test_a_client_that_is_set_up_wrongly_says_so(plain: Reached, env: dict[str, str], code: int, says: str) -> None:
    got, error = plain.fails("ps", **env)
    assert (got, says in error["message"]) == (code, True), error


def test_the_host_must_prove_itself(secure: Reached, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    stranger = Authority(other, "stranger")
    # Vouched for by somebody else, and by nobody whom the system trusts.
    for file in (str(stranger.file), ""):
        code, error = secure.fails("ps", CORRAL_CA_FILE=file)
        assert (code, error["code"]) == (4, "refused"), error
        assert "does not prove" in error["message"]
    assert secure.far("ps", CORRAL_URL=secure.url.replace("127.0.0.1", "localhost")) == []


def test_a_name_that_is_not_in_the_certificate_is_refused(instance: Instance, tmp_path: Path) -> None:
    made, file = make_token(instance)
    authority = Authority(tmp_path)
    cert, key = authority.host("elsewhere.example")
    url = listening(instance, f'address = "127.0.0.1:0"\ntls_cert = "{cert}"\ntls_key = "{key}"')
    reached = Reached(instance, url, file.read_text().strip(), made["id"], file, authority.file)
    code, error = reached.fails("ps")
    assert (code, error["code"]) == (4, "refused")
    assert "does not prove to be that host" in error["message"]


def test_plain_http_to_a_port_of_tls_gets_nothing(secure: Reached) -> None:
    with socket.create_connection(("127.0.0.1", secure.port), 60) as connection:
        connection.sendall(secure.bearer().encode())
        try:
            assert b"HTTP/1.1 2" not in connection.recv(65536)
        except ConnectionResetError:
            return
    code, error = secure.fails("ps", CORRAL_URL=secure.url.replace("https", "http"))
    assert (code, error["code"]) == (6, "unavailable")
    assert secure.far("ps") == []


def test_what_is_malformed_is_refused_over_tcp_as_well(reached: Reached) -> None:
    for what, request in MALFORMED.items():
        with reached.connect() as connection:
            connection.sendall(request)
            answer = said(connection)
        assert answer.startswith(b"HTTP/1.1 4"), (what, answer)
    with reached.connect() as connection:
        connection.sendall(b"GET /v1/health HTTP/1.1\r\nX: " + b"x" * 70_000)
        assert said(connection).startswith(b"HTTP/1.1 431")
    assert reached.far("ps") == []
    assert "Traceback" not in Path(reached.instance.home, "daemon.log").read_text(encoding="utf-8")


def test_a_body_that_comes_without_a_token_is_not_waited_for(plain: Reached) -> None:
    with plain.connect() as connection:
        connection.sendall(b"POST /v1/tokens HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n{")
        assert said(connection).startswith(b"HTTP/1.1 401")


@pytest.mark.slow
def test_a_thousand_connections_in_the_middle_of_their_handshake_are_bounded(secure: Reached) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 1500)), hard))
    most = max(64, hard // 8) // 4
    pid = secure.instance.json("daemon", "status")["pid"]
    before = open_files(pid)
    try:
        with ExitStack() as stack:
            for _ in range(1000):
                stack.enter_context(socket.create_connection(("127.0.0.1", secure.port), 60))
            wait_for(lambda: open_files(pid) >= before + min(most, 1000), what="those that may be are taken")
            assert open_files(pid) <= before + most + 10
            # By the socket everybody is served meanwhile.
            assert secure.instance.json("ps") == []
            # After a while they are hung up on, and others get in.
            wait_for(lambda: open_files(pid) <= before + 10, seconds=60, what="nobody is waited for")
            assert secure.far("ps") == []
        journal = secure.instance.run("events", "-n", "all", "--json", "--event", "caller.refused").stdout
        assert "as many connections as may be" in journal
        assert "without a TLS handshake" in journal
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def open_files(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def refused_start(instance: Instance, settings: str, token: bool = False) -> tuple[int, str]:
    """How a daemon ends that must not listen there: its exit code, and its last words. Nothing listens then."""
    if token:
        make_token(instance)
        instance.run("daemon", "stop")
    Path(instance.home).mkdir(mode=0o700, exist_ok=True)
    Path(instance.home, "config.toml").write_text(f"[listen]\n{settings}\n")
    done = instance.run("daemon", "run", check=False)
    assert not Path(instance.runtime, "daemon.sock").exists()
    return done.returncode, done.stderr


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]", "192.0.2.1"])
def test_the_network_is_not_let_in_without_tls(instance: Instance, host: str) -> None:
    code, words = refused_start(instance, f'address = "{host}:0"', token=True)
    assert code == 4, words
    assert "without TLS: nothing listens" in words
    assert "tls_cert" in words


def test_the_network_is_not_let_in_without_a_token(instance: Instance, tmp_path: Path) -> None:
    cert, key = Authority(tmp_path).host("localhost")
    settings = f'address = "0.0.0.0:0"\ntls_cert = "{cert}"\ntls_key = "{key}"'
    code, words = refused_start(instance, settings)
    assert code == 4, words
    assert "there is no token: nothing listens" in words
    assert "corral token add" in words
    Path(instance.home, "config.toml").unlink()
    make_token(instance)
    assert listening(instance, settings).startswith("https://0.0.0.0:")


Broken = Callable[[Path, Path], str]


def _open_key(cert: Path, key: Path) -> str:
    key.chmod(0o644)
    return "is open to others"


def _other_key(cert: Path, key: Path) -> str:
    other = cert.parent / "other"
    other.mkdir()
    _, wrong = Authority(other).host("localhost")
    key.write_bytes(wrong.read_bytes())
    return "cannot be used with the key"


def _no_key(cert: Path, key: Path) -> str:
    key.unlink()
    return "cannot be read"


@pytest.mark.parametrize("spoil", [_open_key, _other_key, _no_key])
def test_a_certificate_that_cannot_be_used_is_told_of(instance: Instance, tmp_path: Path, spoil: Broken) -> None:
    cert, key = Authority(tmp_path).host("localhost")
    says = spoil(cert, key)
    code, words = refused_start(instance, f'address = "127.0.0.1:0"\ntls_cert = "{cert}"\ntls_key = "{key}"')
    assert code in (1, 4)
    assert says in words


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as somebody:
        yield somebody.getsockname()[1]


def test_an_address_that_is_taken_is_told_of(instance: Instance, taken: int) -> None:
    code, words = refused_start(instance, f'address = "127.0.0.1:{taken}"')
    assert code == 1
    assert f"127.0.0.1:{taken}, and that cannot be had" in words
