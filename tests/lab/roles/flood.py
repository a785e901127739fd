"""Takes all that one may take, and goes on asking: `python -m tests.lab.roles.flood TEAM AGENT OTHER STOP KIND…`.

As whoever runs it, an agent with its credential. Says for each kind what it was refused with, as a line of JSON; then
it asks for more of everything until there is a file STOP.
"""

import http.client
import itertools
import json
import os
import sys

from tests.fuzz.__main__ import credential
from tests.fuzz.wire import Heard, over_socket

SOCKET = "/run/corral/daemon.sock"
MEBIBYTE = 1 << 20


class Flood:
    """Requests for more, by their kind."""

    def __init__(self, team: str, agent: str, other: str) -> None:
        self._connection = http.client.HTTPConnection("corral")
        self._connection.sock = over_socket(SOCKET)()
        self._team = f"team={team}"
        self._whose = f"team={team}&agent={agent}"
        self._other = other
        self._numbers = itertools.count()

    def more(self, kind: str) -> Heard:
        """Ask for one more."""
        number = next(self._numbers)
        if kind == "lease":
            return self._post(f"/v1/leases?{self._whose}", {"patterns": [f"flood/{number}"]})
        if kind == "process":
            return self._post(f"/v1/exec?{self._whose}", {"argv": ["sleep", "1000"], "background": True})
        text = "x" * MEBIBYTE
        if kind == "task":
            # Of the largest there are, since it takes fewer of them.
            return self._post(f"/v1/tasks?{self._team}", {"title": "x" * 256, "body": text[: 64 * 1024]})
        if kind == "value":
            return self._post(f"/v1/kv?{self._team}", {"puts": {f"flood/{number}": text}})
        return self._post(f"/v1/messages?{self._whose}", {"text": text[:-100], "to": [self._other]})

    def _post(self, target: str, body: object) -> Heard:
        self._connection.request("POST", target, json.dumps(body), credential())
        answer = self._connection.getresponse()
        return Heard(answer.status, {}, answer.read(), 0.0)


def main() -> None:
    team, agent, other, stop, *kinds = sys.argv[1:]
    flood = Flood(team, agent, other)
    for kind in kinds:
        taken = 0
        while (heard := flood.more(kind)).status == 200:
            taken += 1
        print(json.dumps({"kind": kind, "taken": taken, "status": heard.status, **json.loads(heard.body)}), flush=True)
    while not os.path.exists(stop):
        for kind in kinds:
            heard = flood.more(kind)
            assert heard.status == 409, (kind, heard)


if __name__ == "__main__":
    main()
