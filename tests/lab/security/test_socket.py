"""Attacks: speaking to the daemon's socket as no client of Corral's does. Ann is served all the while."""

import shlex
import time
from collections.abc import Callable

from tests.lab.security.attacks import BEN, DAEMON, WEB, Attack, Event, denied, each, fruitless, now
from tests.lab.security.ground import ANN, MOST_CONNECTIONS, Ground
from tests.lab.support.users import User
from tests.support.waiting import wait_for

#: Begins every script: `connect()` is a connection, `rest(one)` what comes back until it is hung up.
BEGIN = """
import socket, sys
def connect():
    one = socket.socket(socket.AF_UNIX)
    one.settimeout(20)
    one.connect('/run/corral/daemon.sock')
    return one
def rest(one):
    said = b''
    try:
        while more := one.recv(65536):
            said += more
    except ConnectionError:
        said += b' (reset)'
    print(said[:300].decode(errors='replace'))
"""


def script(text: str) -> str:
    """A line of shell that runs it, and says by its exit code that nothing was won by that."""
    return "python3 -c " + shlex.quote(f"{BEGIN}{text}\nsys.exit(1)")


def sent(name: str, data: str, says: str, words: str, who: str = BEN) -> Attack:
    """Bytes, as a Python expression, sent on a connection of their own."""
    text = f"""
one = connect()
try:
    one.sendall({data})
except ConnectionError:
    pass
rest(one)"""
    return Attack(name=name, who=who, what=script(text), says=says, told=Event(event="caller.refused", words=words))


#: The same user is told of once in ten seconds for the same thing, so that no journal is filled: each has its own.
TABLE = (
    sent(
        "a head of a megabyte",
        "b'GET /v1/health HTTP/1.1\\r\\nx: ' + b'a' * 1000000",
        "431|reset",
        "more than 65536 bytes",
    ),
    sent("a path of a megabyte", "b'GET /' + b'a' * 1000000", "431|reset", "more than 65536 bytes", DAEMON),
    sent("what is no HTTP", "b'\\x00\\x01\\x02\\x03 let me in\\r\\n\\r\\n'", "400", "no HTTP"),
    sent("what is no HTTP, by who is no member", "b'\\x16\\x03\\x01'", "400", "no HTTP", DAEMON),
    sent(
        "two requests smuggled as one",
        "b'POST /v1/down HTTP/1.1\\r\\nhost: x\\r\\ncontent-length: 5\\r\\n"
        "transfer-encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\nPOST /v1/daemon/stop HTTP/1.1\\r\\n\\r\\n'",
        "400",
        "no HTTP",
        WEB,
    ),
    fruitless(
        "a body of a hundred megabytes",
        BEN,
        script(
            """
one = connect()
try:
    one.sendall(b'POST /v1/up HTTP/1.1\\r\\nhost: x\\r\\nconnection: close\\r\\ncontent-length: 100000000\\r\\n\\r\\n')
    one.sendall(b'a' * 100000000)
except ConnectionError:
    pass
rest(one)"""
        ),
        says="(?s) 400 .*more than 8388608 bytes",
        verb="up",
        outcome="400",
    ),
    fruitless(
        "half a body, and gone",
        BEN,
        script(
            """
import time
one = connect()
one.sendall(b'POST /v1/kv?team=mill HTTP/1.1\\r\\nhost: x\\r\\ncontent-length: 100\\r\\n\\r\\nabc')
time.sleep(1)  # who has ended by the time that it is looked at is refused for that
one.close()"""
        ),
        says="^$",
        verb="change_values",
        outcome="left",
    ),
    fruitless(
        "JSON as deep as it goes",
        BEN,
        "$RAW POST /v1/up \"$(head -c 100000 /dev/zero | tr '\\0' '[')\"",
        says="^400",
        verb="up",
        outcome="400",
    ),
    fruitless(
        "a path out of the API",
        BEN,
        "$RAW GET /v1/recordings/..%2f..%2f..%2f..%2fetc%2fpasswd ''"
        " || $RAW GET '/v1/../../etc/passwd' '' || $RAW GET /v1/processes/..%2f..%2fcorral.db/output ''",
        says="^40",
        verb="unknown",
        outcome="404",
    ),
    fruitless(
        "a verb that there is not",
        BEN,
        '$RAW PATCH /v1/members/ben \'{"role": "owner"}\'',
        says="Method Not Allowed",
        verb="unknown",
        outcome="400",
    ),
    denied(
        "a role in one's own body",
        BEN,
        '$RAW PUT /v1/members/ben \'{"role": "owner"}\'',
        says="^403",
        verb="member_add",
        rule="gives_too_much",
    ),
)


@each(TABLE)
def test_the_daemon_stands_whatever_is_sent(ground: Ground, fails: Callable[[Attack], None], attack: Attack) -> None:
    fails(attack)
    assert ANN.run("corral", "ps").returncode == 0


#: Opens so many, then sends a byte more of each for each line; in the end it says how many were told why it is over.
SLOW = (
    BEGIN
    + """
many = [connect() for _ in range(1000)]
for one in many:
    one.sendall(b'GET /v1/health HTTP/1.1\\r\\nx-slow: ')
print('waiting', flush=True)
for line in sys.stdin:
    for one in many:
        try:
            one.sendall(b'a')
        except ConnectionError:
            pass
    print('sent', flush=True)
def answer(one):
    try:
        return one.recv(65536)
    except ConnectionError:
        return b''
print(sum(b' 408 ' in answer(one) for one in many))
"""
)
#: Seconds until somebody is hung up on who sends no whole request, and some for a machine that is busy.
PATIENCE = 30 + 30


def test_a_thousand_requests_that_never_end_keep_nobody_waiting_and_are_hung_up_on(ground: Ground) -> None:
    told = Event(event="caller.refused", words="no whole request came within 30 seconds")
    since, until = now(), time.monotonic() + PATIENCE
    with User("ben").start("python3", "-c", SLOW) as slow:
        assert slow.stdin is not None
        assert slow.stdout is not None
        try:
            assert slow.stdout.readline() == "waiting\n"
            while not told.find(since, BEN):
                assert time.monotonic() < until, f"nothing is told of it: {told}"
                slow.stdin.write("\n")
                slow.stdin.flush()
                assert slow.stdout.readline() == "sent\n"
                assert ANN.run("corral", "ps").returncode == 0
        finally:
            slow.stdin.close()
            refused = slow.stdout.read()
            slow.wait(30)
    assert refused == "1000\n"
    assert ground.harm() == []


#: Opens so many, says how many of those beyond them were told that there are too many, and asks by the very first one.
MANY = (
    BEGIN
    + f"""
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
many = [connect() for _ in range({MOST_CONNECTIONS})]
beyond = [connect() for _ in range(50)]
print(sum(b' 429 ' in one.recv(65536) for one in beyond), flush=True)
for line in sys.stdin:
    pass
many[0].sendall(b'GET /v1/health HTTP/1.1\\r\\nhost: x\\r\\n\\r\\n')
print(b' 200 ' in many[0].recv(65536))
"""
)


def test_who_has_as_many_connections_as_may_be_gets_no_more_and_others_are_served(ground: Ground) -> None:
    told = Event(event="caller.refused", words=f"has {MOST_CONNECTIONS} connections, and may have no more")
    since = now()
    with User("ben").start("python3", "-c", MANY) as many:
        assert many.stdin is not None
        assert many.stdout is not None
        try:
            assert many.stdout.readline() == "50\n"
            assert ANN.run("corral", "ps").returncode == 0
        finally:
            many.stdin.close()
            rest = many.stdout.read()
            many.wait(30)
    assert rest == "True\n"
    wait_for(lambda: told.find(since, BEN), what=f"it is told of: {told}")
    assert ground.harm() == []
