"""What profiles say of the records that programs write, on records of the real programs, shortened."""

import pytest

from corral.agents.catalogue import by_name
from corral.agents.profile_file import read_profile
from corral.domain.activity import IDLE, WORKING
from corral.domain.errors import BadSpecError
from corral.domain.told_records import last_told
from tests.unit.agents.test_profile_resume import BASE, TRANSCRIPTS

RESUME = f'[resume]\nwords = ["r", "{{session}}"]\n{TRANSCRIPTS}'
CLAUDE = '"isSidechain": false, "timestamp": "2026-11-16T06:17:28.015Z"'
AT = '"timestamp": "2026-11-16T06:17:28.015Z"'

WRITTEN = {
    # Claude Code 2.1.197
    "claude": [
        (f'{{{CLAUDE}, "type": "user", "message": {{"role": "user", "content": "please work"}}}}', WORKING),
        (f'{{{CLAUDE}, "type": "attachment", "attachment": {{"type": "skill_listing"}}}}', None),
        (f'{{{CLAUDE}, "type": "assistant", "message": {{"stop_reason": "tool_use"}}}}', WORKING),
        (f'{{"isSidechain": true, {AT}, "type": "assistant", "message": {{"stop_reason": "end_turn"}}}}', None),
        (f'{{{CLAUDE}, "type": "assistant", "message": {{"stop_reason": null}}}}', None),
        (f'{{{CLAUDE}, "type": "assistant", "message": {{"stop_reason": "end_turn"}}}}', IDLE),
        ('{"type": "last-prompt", "lastPrompt": "please work", "sessionId": "79534c8b"}', None),
    ],
    # Codex 0.166.0
    "codex": [
        (f'{{{AT}, "type": "session_meta", "payload": {{"cwd": "/w", "originator": "codex_exec"}}}}', None),
        (f'{{{AT}, "type": "event_msg", "payload": {{"type": "task_started", "turn_id": "01a1"}}}}', WORKING),
        (f'{{{AT}, "type": "response_item", "payload": {{"type": "message", "role": "assistant"}}}}', None),
        (f'{{{AT}, "type": "event_msg", "payload": {{"type": "token_count"}}}}', None),
        (f'{{{AT}, "type": "event_msg", "payload": {{"type": "task_complete", "turn_id": "01a1"}}}}', IDLE),
        (f'{{{AT}, "type": "event_msg", "payload": {{"type": "turn_aborted", "reason": "interrupted"}}}}', IDLE),
    ],
    # pi 0.73.1
    "pi": [
        (f'{{"type": "session", "version": 3, {AT}, "cwd": "/w"}}', None),
        (f'{{"type": "message", {AT}, "message": {{"role": "user", "content": []}}}}', WORKING),
        (f'{{"type": "message", {AT}, "message": {{"role": "assistant", "stopReason": "toolUse"}}}}', WORKING),
        (f'{{"type": "message", {AT}, "message": {{"role": "toolResult", "isError": false}}}}', WORKING),
        (f'{{"type": "message", {AT}, "message": {{"role": "assistant", "stopReason": "error"}}}}', None),
        (f'{{"type": "message", {AT}, "message": {{"role": "assistant", "stopReason": "stop"}}}}', IDLE),
    ],
}
SPOKEN = {
    "claude": [
        ('{"type":"system","subtype":"init","cwd":"/w"}', WORKING),
        ('{"type":"assistant","message":{"role":"assistant","stop_reason":null}}', None),
        ('{"type":"result","subtype":"success","is_error":false}', IDLE),
    ],
    "codex": [
        ('{"type":"thread.started","thread_id":"01a1"}', None),
        ('{"type":"turn.started"}', WORKING),
        ('{"type":"item.completed","item":{"type":"agent_message","text":"It is done."}}', None),
        ('{"type":"turn.completed","usage":{"input_tokens":20}}', IDLE),
        ('{"type":"turn.failed","error":{"message":"no"}}', IDLE),
    ],
    "pi": [
        ('{"type":"agent_start"}', WORKING),
        ('{"type":"turn_end","message":{"role":"assistant"}}', None),
        ('{"type":"agent_end","messages":[]}', IDLE),
    ],
}


@pytest.mark.parametrize("name", list(WRITTEN))
def test_records_of_transcripts_say_what_their_program_did(name: str) -> None:
    profile = by_name(name)
    assert profile is not None
    assert profile.resume is not None
    where = profile.resume.transcripts
    assert where is not None
    for record, says in WRITTEN[name]:
        told = last_told(where.records, [record.encode()], time=where.time)
        assert (told.word if told else None) == says, record


@pytest.mark.parametrize("name", list(SPOKEN))
def test_records_of_protocols_say_what_their_program_does(name: str) -> None:
    profile = by_name(name)
    assert profile is not None
    for record, says in SPOKEN[name]:
        told = last_told(profile.protocol, [record.encode()])
        assert (told.word if told else None) == says, record


def test_rules_of_a_person_are_read() -> None:
    profile = read_profile(
        f'{BASE}{RESUME}time = "at"\n[[resume.transcripts.record]]\nsays = "idle"\n'
        'where = { type = ["a", "b"], "message.below" = false }\n[[protocol]]\nsays = "working"\nwhere = { x = "y" }\n',
        "x.toml",
    )
    assert profile.resume is not None
    assert profile.resume.transcripts is not None
    [rule] = profile.resume.transcripts.records
    assert (rule.says, rule.where) == ("idle", (("type", ("a", "b")), ("message.below", (False,))))
    assert [rule.says for rule in profile.protocol] == ["working"]
    assert read_profile(BASE, "x.toml").protocol == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f'{RESUME}[[resume.transcripts.record]]\nsays = "idle"\nwhere = {{ a = "b" }}\n', "time"),
        ('[[protocol]]\nsays = "waiting"\nwhere = { a = "b" }\n', "not what a record can say"),
        ('[[protocol]]\nsays = "idle"\n', "where"),
        ('[[protocol]]\nsays = "idle"\nwhere = {}\n', "nothing says when it fits"),
        ('[[protocol]]\nsays = "idle"\nwhere = { a = 1 }\n', "no string or boolean"),
        ('[[protocol]]\nsays = "idle"\nwhere = { a = [] }\n', "no string or boolean"),
        ('[[protocol]]\nsays = "idle"\nwhere = { a = "b" }\nname = "x"\n', "no such key"),
        ("protocol = [1]\n", "no table"),
        ('[[protocol]]\nsays = "idle"\nwhere = { a = "b" }\n' * 21, "21 rules"),
    ],
)
def test_a_mistake_is_told(text: str, said: str) -> None:
    with pytest.raises(BadSpecError) as error:
        read_profile(f"{BASE}{text}", "x.toml")
    assert said in error.value.message
