"""What contents of a thing are told by is something that policies know."""

import json
from importlib.resources import files

import pytest

from corral.domain.policy import contents_of_event
from corral.service.sight import CONTENTS_OF_AGENT, CONTENTS_OF_PROCESS

ACTS = json.loads((files("corral.policy") / "data.json").read_text())["tables"]["verbs"]


@pytest.mark.parametrize(
    ("verb", "act"),
    [
        (CONTENTS_OF_AGENT, "read"),
        (CONTENTS_OF_PROCESS, "read"),
        (contents_of_event("agent.exited"), "read"),
        (contents_of_event("process.started"), "read"),
        (contents_of_event("an.event_to_come"), "read"),
        (contents_of_event("lease.granted"), "follow"),
        (contents_of_event("kv.changed"), "follow"),
        (contents_of_event("task.added"), "follow"),
        (contents_of_event("topic.published"), "follow"),
        (contents_of_event("merge.merged"), "follow"),
        (contents_of_event("team.down"), "follow"),
    ],
)
def test_contents_are_told_to_those_who_may_do_what_tells_them_anyway(verb: str, act: str) -> None:
    assert ACTS[verb] == act


def test_what_is_nobodys_is_told_to_all_who_see_it() -> None:
    assert contents_of_event("team.up") == contents_of_event("member.added") == ""
