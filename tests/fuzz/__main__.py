"""The fuzz as whoever runs it: `python -m tests.fuzz SOCKET GROUND [--examples N] [--edges]`.

For other users of a machine, and agents, each of whom asks as themselves. The daemon and the teams are there already.
GROUND is a file with what there is to be asked about and which marks may be told, as JSON (`Told`). Prints what was
answered and what is wrong as JSON; the exit code is 1 if anything is.
"""

import argparse
import getpass
import json
import os
import sys
from collections import Counter
from pathlib import Path

import msgspec

from corral.api.openapi import document
from tests.fuzz.run import Findings, Fuzz
from tests.fuzz.taming import Ground
from tests.fuzz.wire import Identity, ask, over_socket


class Told(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    ground: Ground
    #: Texts by their kind, and the kinds that the caller may be told.
    marks: dict[str, str] = {}
    told: tuple[str, ...] = ()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("socket")
    parser.add_argument("ground", type=Path)
    parser.add_argument("--examples", type=int, default=3)
    parser.add_argument("--edges", action="store_true")
    given = parser.parse_args()
    said = msgspec.json.decode(given.ground.read_bytes(), type=Told)
    identity = Identity(getpass.getuser(), over_socket(given.socket), credential())
    told = ask(identity, "GET", "/v1/openapi.json", {}, None)
    # Who may not even read it can still have it from elsewhere.
    fuzz = Fuzz(
        json.loads(told.body if told.status == 200 else document()), said.ground, identity, said.marks, said.told
    )
    if said.ground.others:
        fuzz.run_aimed()
    # Either ends with taking the team down, as far as its user may.
    findings = fuzz.run_edges() if given.edges else fuzz.run(given.examples)
    print(json.dumps(report(identity, findings)))
    return 1 if findings.wrong else 0


def credential() -> dict[str, str]:
    """What an agent shows with each request; nothing for a person."""
    file = os.environ.get("CORRAL_CREDENTIAL_FILE")
    return {"x-corral-credential": Path(file).read_text().strip()} if file else {}


def report(identity: Identity, findings: Findings) -> dict[str, object]:
    """What is told of a run."""
    wrong = [
        {"operation": operation, "what": what, "request": how} for (operation, what), how in findings.wrong.items()
    ]
    return {
        "as": identity.name,
        "asked": findings.asked + Counter(openapi=1),
        "answered": {str(status): count for status, count in sorted(findings.statuses.items())},
        "reached": sorted(findings.reached),
        "seen": {kind: sorted(operations) for kind, operations in findings.seen.items()},
        "wrong": wrong,
    }


if __name__ == "__main__":
    sys.exit(main())
