"""What clients do: each function is one turn of one kind of client, drawn by chance from its seed.

Every value, text and title that is written is written once in a whole run, so that a checker knows whose it sees.
"""

import itertools
import random
import time
from typing import Any

from tests.history.record import OK, UNKNOWN
from tests.history.wire import Wire

#: The files that each pattern names, of a world of five. Written by hand: the checker shall not ask what it checks.
FILES = {
    "src/a.py": {"src/a.py"},
    "src/*.py": {"src/a.py", "src/b.py"},
    "src/": {"src/a.py", "src/b.py", "src/README.md"},
    "docs/x.md": {"docs/x.md"},
    "docs/**": {"docs/x.md", "docs/y.txt"},
    "**/*.md": {"src/README.md", "docs/x.md"},
    "**/[ab].py": {"src/a.py", "src/b.py"},
}
LOCKS = ("build", "deploy")
KEYS, PREFIX = 3, "r/"
TOPIC = "news"
#: Seconds; a client that is stopped for longer loses what it has.
LOCK_TTL, TASK_TTL = 1.0, 1.0
#: How many tasks each client adds: all of them together fewer than are kept when they are done, or some are gone that
#: were not lost. A quick machine would come to more.
TASKS_EACH = 200
_numbers = itertools.count(1)
_tasks = itertools.count(1)


def leases(wire: Wire, chance: random.Random, agent: str) -> None:
    """Hold some files for a moment, exclusively or together with others, at once or after a wait."""
    patterns = chance.sample(sorted(FILES), chance.choice((1, 1, 2)))
    asked = {"patterns": patterns, "shared": chance.random() < 0.3}
    wait = chance.choice((0.0, 0.2, 1.0))
    outcome, told = wire.do("acquire", "POST", "/v1/leases", asked, {**asked, "wait": wait})
    if outcome == OK:
        time.sleep(chance.random() * 0.03)
        _release(wire, told["lease"], told["token"])
    elif outcome == UNKNOWN:
        _release_all(wire, agent)


def _release_all(wire: Wire, agent: str) -> None:
    """Who does not know whether it holds something looks, and gives it back: nobody else could."""
    outcome, told = wire.do("leases", "GET", "/v1/leases", {})
    if outcome == OK:
        for lease in told["leases"]:
            if lease["agent"] == f"shop/{agent}":
                _release(wire, lease["lease"], lease["token"])


def _release(wire: Wire, lease: str, token: int) -> None:
    wire.do("release", "POST", f"/v1/leases/{lease}/release", {"lease": lease}, {"token": token})


def locks(wire: Wire, chance: random.Random, agent: str) -> None:
    """Hold a name that lives by being renewed, and give it back or forget it."""
    asked = {"name": chance.choice(LOCKS), "ttl": LOCK_TTL}
    outcome, told = wire.do("lock", "POST", "/v1/locks", asked, {**asked, "wait": chance.choice((0.0, 0.5))})
    if outcome != OK:
        return
    lease, token = told["lease"], told["token"]
    for _ in range(chance.randrange(3)):
        time.sleep(chance.random() * 0.2)
        wire.do("renew", "POST", f"/v1/leases/{lease}/renew", {"lease": lease, "ttl": LOCK_TTL}, {"token": token})
    if chance.random() < 0.9:
        _release(wire, lease, token)


def tasks(wire: Wire, chance: random.Random, agent: str) -> None:
    """Add some, claim one, and finish it, fail, give it back, or never say."""
    if chance.random() < 0.4 and next(_tasks) <= TASKS_EACH:
        key = f"{agent} {next(_numbers)}"
        body = {"title": key, "key": key, "max_attempts": 1000, "backoff": 0.0, "priority": chance.randrange(3)}
        # Who does not know asks again: with a key that is the same task.
        while wire.do("add", "POST", "/v1/tasks", {"key": key}, body)[0] == UNKNOWN:
            pass
    # The claim of an agent goes on while the agent lives, and that of a person while it is heard of.
    whose = agent if chance.random() < 0.3 else ""
    claim = {"ttl": TASK_TTL}
    outcome, told = wire.do("claim", "POST", "/v1/tasks/claim", claim, claim, agent=whose)
    time.sleep(chance.random() * 0.05)
    if outcome != OK:
        return
    about = {"task": told["task"], "token": told["token"]}
    target, token = f"/v1/tasks/{told['task']}", {"token": told["token"]}
    match chance.choice(("done", "done", "done", "fail", "return", "prolong", "forget")):
        case "done":
            _finish(wire, target, about, agent)
        case "prolong":
            wire.do("prolong", "POST", f"{target}/renew", {**about, "ttl": TASK_TTL}, token)
            _finish(wire, target, about, agent)
        case "fail":
            wire.do("fail", "POST", f"{target}/fail", about, token)
        case "return":
            wire.do("return", "POST", f"{target}/release", about, token)


def _finish(wire: Wire, target: str, about: dict[str, Any], agent: str) -> None:
    result = f"{agent} {next(_numbers)}"
    wire.do("done", "POST", f"{target}/done", {**about, "result": result}, {"token": about["token"], "result": result})


def values(wire: Wire, chance: random.Random, agent: str) -> None:
    """Read a key; then write it as it is, or if nobody else did in between; remove it; or two at once."""
    key, other = chance.sample([f"{PREFIX}{number}" for number in range(KEYS)], 2)
    outcome, told = wire.do("get", "GET", "/v1/kv", {"key": key}, None, key=key)
    if outcome == UNKNOWN:
        return
    seen = told["revision"] if outcome == OK else 0
    asked: dict[str, Any] = {"puts": {key: f"{agent} {next(_numbers)}"}, "drops": [], "if_revisions": {key: seen}}
    match chance.choice(("swap", "swap", "swap", "put", "drop", "both")):
        case "put":
            asked["if_revisions"] = {}
        case "drop":
            asked |= {"puts": {}, "drops": [key]}
        case "both":
            asked["puts"][other] = f"{agent} {next(_numbers)}"
    wire.do("transact", "POST", "/v1/kv", asked, asked)
    time.sleep(chance.random() * 0.02)


def watch(wire: Wire, chance: random.Random, agent: str) -> None:
    """See every change, from the first on and over every break."""
    _follow(wire, "seen", "/v1/kv/watch", {"prefix": PREFIX})


def topics(wire: Wire, chance: random.Random, agent: str) -> None:
    """Publish."""
    text = f"{agent} {next(_numbers)}"
    wire.do("publish", "POST", "/v1/topics", {"text": text}, text.encode(), topic=TOPIC)
    time.sleep(chance.random() * 0.02)


def follow(wire: Wire, chance: random.Random, agent: str) -> None:
    """Read all that is published, from the first on and over every break."""
    _follow(wire, "heard", "/v1/topics/follow", {"topic": TOPIC})


def _follow(wire: Wire, what: str, target: str, query: dict[str, str]) -> None:
    after = 0
    while True:
        for told in wire.follow(what, target, {"after": after}, after=after, **query):
            after = told["revision"]


def messages(wire: Wire, chance: random.Random, agent: str) -> None:
    """Write to somebody, or look into one's mailbox and ack something."""
    if chance.random() < 0.35:  # fewer than are acked: a mailbox has an end
        to = sorted({f"a-{chance.randrange(1, 3)}" for _ in range(2)})
        text = f"{agent} {next(_numbers)}"
        wire.do("send", "POST", "/v1/messages", {"to": to, "text": text}, {"to": to, "text": text})
        return
    outcome, told = wire.do("inbox", "GET", "/v1/messages/inbox", {}, None, limit=1000)
    if outcome == OK and told["messages"]:
        message = chance.choice(told["messages"])["message"]
        wire.do("ack", "POST", f"/v1/messages/{message}/ack", {"message": message}, {})
