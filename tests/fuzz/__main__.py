"""The fuzz as whoever runs it: `python -m tests.fuzz SOCKET TEAM DIRECTORY AGENT… [--secret TEXT]… [--edges]`.

For other users of a machine, each of whom asks as themselves. The daemon and the team are there already. Prints what
was answered and what is wrong as JSON; the exit code is 1 if anything is.
"""

import argparse
import getpass
import json
import sys

from tests.fuzz.run import Fuzz
from tests.fuzz.taming import Ground
from tests.fuzz.wire import Identity, ask, over_socket


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("socket")
    parser.add_argument("team")
    parser.add_argument("directory")
    parser.add_argument("agents", nargs="+")
    parser.add_argument("--secret", action="append", default=[])
    parser.add_argument("--examples", type=int, default=3)
    parser.add_argument("--edges", action="store_true")
    given = parser.parse_args()
    identity = Identity(getpass.getuser(), over_socket(given.socket))
    told = ask(identity, "GET", "/v1/openapi.json", {}, None)
    if told.status != 200:
        print(json.dumps({"as": identity.name, "document": told.status}))
        return 1
    fuzz = Fuzz(json.loads(told.body), Ground(given.team, given.agents, given.directory), identity, given.secret)
    # Either ends with taking the team down, as far as its user may.
    findings = fuzz.run_edges() if given.edges else fuzz.run(given.examples)
    wrong = [
        {"operation": operation, "what": what, "request": how} for (operation, what), how in findings.wrong.items()
    ]
    answered = {str(status): count for status, count in sorted(findings.statuses.items())}
    print(json.dumps({"as": identity.name, "answered": answered, "reached": sorted(findings.reached), "wrong": wrong}))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
