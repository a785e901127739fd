"""What `corral doctor` says in the account of a user."""

import json
from typing import Any

from tests.lab.support.instances import LabInstance

Document = dict[str, Any]


def doctor(instance: LabInstance, *arguments: str) -> Document:
    """The document of `corral doctor --json`; its exit code must agree with it."""
    done = instance.corral("doctor", *arguments, "--json", check=False)
    assert done.returncode in (0, 5), done.stderr
    document: Document = json.loads(done.stdout)
    assert done.returncode == (0 if document["healthy"] else 5), done.stderr
    return document


def found(document: Document, check: str, **wanted: object) -> list[Document]:
    """The findings of one check, those with these values."""
    return [
        finding
        for finding in document["findings"]
        if finding["check"] == check and all(finding.get(key) == value for key, value in wanted.items())
    ]


def not_checked(document: Document) -> dict[str, str]:
    """Check → why it could not be made."""
    return {check["check"]: check["why"] for check in document["checked"] if not check["done"]}


def fixes(instance: LabInstance) -> list[Document]:
    """What the journal has of the doctor's work."""
    lines = instance.corral("events", "-n", "all", "--json").stdout.splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == "doctor.fixed"]
