"""Hooks in a coding agent's own file: put in, changed, taken out, and whatever else is in it stays."""

import json
from collections.abc import Mapping

import pytest

from corral.domain.errors import RefusedError
from corral.domain.hook_registration import HERE, HookFile, registered, unregistered, without_ours

COMMANDS = HookFile(files=("s.json",), events={"PreToolUse": "Read|Write", "Stop": ""})
PLUGIN = HookFile(files=("s.json",), events={}, plugin=f"file://{HERE}/x_hooks.js", list="plugin")
CORRAL = ["/opt/my tools/corral"]

MINE = """\
{
  // what I allow
  "permissions": {"allow": ["Bash(ls)"]},
  "hooks": {
    "PreToolUse": [
      {"matcher": "Bash", "hooks": [{"type": "command", "command": "mine.sh"}]}, // keep this
    ],
    "Notification": [{"hooks": [{"type": "command", "command": "corral hook"}]}]
  }
}
"""


def put(text: str, where: HookFile = COMMANDS, command: list[str] = CORRAL) -> str:
    new = registered(where, "s.json", text, "claude", command, "/opt/agents")
    assert new is not None
    return new


def ours(event: str, matcher: str = "", program: str = "'/opt/my tools/corral'") -> Mapping[str, object]:
    run = {"type": "command", "command": f"{program} hook claude {event}"}
    return {**({"matcher": matcher} if matcher else {}), "hooks": [run]}


def test_a_file_that_is_not_there_gets_them_all() -> None:
    assert json.loads(put("")) == {
        "hooks": {"PreToolUse": [ours("pre-tool-use", "Read|Write")], "Stop": [ours("stop")]}
    }


def test_once_is_enough() -> None:
    for text in ("", MINE):
        assert registered(COMMANDS, "s.json", put(text), "claude", CORRAL, "") is None


def test_what_a_person_wrote_stays_comments_and_other_hooks_included() -> None:
    new = put(MINE)
    for line in MINE.splitlines()[:6]:
        assert line in new
    assert 'corral hook"' in new
    assert new.count("hook claude pre-tool-use") == 1
    assert new.index("mine.sh") < new.index("hook claude pre-tool-use")


def test_another_corral_takes_the_place_of_ours_and_nothing_else() -> None:
    new = put(put(MINE), command=["/usr/bin/python3", "-P", "-m", "corral"])
    assert "my tools" not in new
    assert "// keep this" in new
    assert new.count("/usr/bin/python3 -P -m corral hook claude") == 2
    assert put(new) == put(MINE)


def test_they_are_taken_out_again() -> None:
    without = unregistered(COMMANDS, "s.json", put(MINE), "claude")
    assert without is not None
    assert "hook claude" not in without
    assert "// keep this" in without
    assert "mine.sh" in without
    assert unregistered(COMMANDS, "s.json", without, "claude") is None
    assert unregistered(COMMANDS, "s.json", MINE, "claude") is None


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        '{\n  "a": 1\n}\n',
        '{\n  "a": 1,\n  "hooks": {\n    "Notification": [1]\n  },\n  "b": 2\n}\n',
        '{\n  "hooks": {\n    "Stop": [{"hooks": []}]\n  }\n}\n',
    ],
)
def test_what_is_taken_out_leaves_no_empty_lists(text: str) -> None:
    without = unregistered(COMMANDS, "s.json", put(text), "claude")
    assert without == text


def test_a_plugin_is_an_item_of_a_list() -> None:
    new = put('{"plugin": ["mine"], "model": "x"}', PLUGIN)
    assert json.loads(new) == {"plugin": ["mine", "file:///opt/agents/x_hooks.js"], "model": "x"}
    moved = registered(PLUGIN, "s.json", new, "claude", CORRAL, "/elsewhere")
    assert moved is not None
    assert json.loads(moved)["plugin"] == ["mine", "file:///elsewhere/x_hooks.js"]
    assert unregistered(PLUGIN, "s.json", moved, "claude") == '{"plugin": ["mine"], "model": "x"}'
    assert json.loads(put("", PLUGIN)) == {"plugin": ["file:///opt/agents/x_hooks.js"]}


def test_hooks_of_another_agent_are_not_ours() -> None:
    theirs = '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "corral hook gemini stop"}]}]}}'
    assert unregistered(COMMANDS, "s.json", theirs, "claude") is None
    assert json.loads(put(theirs))["hooks"]["Stop"][0] == json.loads(theirs)["hooks"]["Stop"][0]


def test_a_group_with_a_persons_command_in_it_is_the_persons() -> None:
    both = {"hooks": [*ours("stop")["hooks"], {"type": "command", "command": "mine.sh"}]}  # type: ignore[misc]
    text = json.dumps({"hooks": {"Stop": [both]}})
    assert json.loads(put(text))["hooks"]["Stop"] == [both, ours("stop")]


@pytest.mark.parametrize("text", ["[]", "{", '{"hooks": []}', '{"hooks": {"Stop": {}}}', '{"hooks": {"Stop": 1}}'])
def test_what_cannot_be_changed_is_left_alone(text: str) -> None:
    with pytest.raises(RefusedError) as refused:
        put(text)
    assert "s.json was left as it is" in refused.value.message


def test_what_is_said_besides() -> None:
    assert without_ours(COMMANDS, json.loads(put("")), "claude") == {}
    assert without_ours(COMMANDS, json.loads(put('{"a": 1}')), "claude") == {"a": 1}
    assert without_ours(PLUGIN, json.loads(put("", PLUGIN)), "claude") == {}
