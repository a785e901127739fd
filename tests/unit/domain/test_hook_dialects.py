"""How each coding agent's hook is read, and how it is answered. Inputs are those of the agents' documentation."""

import json

import pytest

from corral.cli import hook
from corral.domain.hook_calls import AFTER, ALIVE, BEFORE, FAILED, MOST_PATHS, OVER, NotUnderstoodError, Verdict
from corral.domain.hook_calls import READ as READS
from corral.domain.hook_calls import WRITE as WRITES
from corral.domain.hook_dialects import DIALECTS, Dialect, dialect

PATCH = (
    "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n@@\n-x\n+*** Delete File: no\n"
    "*** Add File: c d.py\n+y\n*** Delete File: e.py\n*** End Patch"
)


def of(name: str) -> Dialect:
    found = dialect(name)
    assert found is not None
    return found


def used(tool: str, **arguments: object) -> dict[str, object]:
    return {"session_id": "s", "cwd": "/w", "tool_name": tool, "tool_input": arguments}


@pytest.mark.parametrize(
    ("name", "event", "said", "when", "act", "paths"),
    [
        ("claude", "PreToolUse", used("Write", file_path="/w/x", content="t"), BEFORE, WRITES, ["/w/x"]),
        ("claude", "pre-tool-use", used("MultiEdit", file_path="x", edits=[]), BEFORE, WRITES, ["x"]),
        ("claude", "pre-tool-use", used("NotebookEdit", notebook_path="x.ipynb"), BEFORE, WRITES, ["x.ipynb"]),
        ("claude", "PostToolUse", used("Read", file_path="x"), AFTER, READS, ["x"]),
        ("claude", "PostToolUseFailure", used("Edit", file_path="x"), FAILED, WRITES, ["x"]),
        ("claude", "PreToolUse", used("Bash", command="rm x"), BEFORE, "", []),
        ("claude", "PreToolUse", used("mcp__files__write", path="x"), BEFORE, "", []),
        ("claude", "PostToolUse", used("Write"), AFTER, "", []),
        ("claude", "PostToolUseFailure", used("Write", file_path=7), FAILED, "", []),
        ("claude", "Stop", {"session_id": "s"}, OVER, "", []),
        ("claude", "UserPromptSubmit", {"prompt": "x"}, ALIVE, "", []),
        ("claude", "SomethingNew", {"whatever": []}, ALIVE, "", []),
        ("codex", "PreToolUse", used("apply_patch", command=PATCH), BEFORE, WRITES, ["a.py", "b.py", "c d.py", "e.py"]),
        ("codex", "PreToolUse", used("Bash", command=f"apply_patch <<'E'\n{PATCH}\nE"), BEFORE, WRITES, None),
        ("codex", "PreToolUse", used("Bash", command="cat a.py"), BEFORE, "", []),
        ("gemini", "BeforeTool", used("write_file", file_path="x", content=""), BEFORE, WRITES, ["x"]),
        ("gemini", "BeforeTool", used("read_many_files", include=["a", "b"]), BEFORE, READS, ["a", "b"]),
        ("gemini", "AfterTool", used("replace", file_path="x"), AFTER, WRITES, ["x"]),
        ("gemini", "AfterAgent", {}, OVER, "", []),
        ("cursor", "preToolUse", used("Write", file_path="x"), BEFORE, WRITES, ["x"]),
        ("cursor", "beforeReadFile", {"file_path": "x", "content": "t"}, BEFORE, READS, ["x"]),
        ("cursor", "afterFileEdit", {"file_path": "x", "edits": []}, AFTER, WRITES, ["x"]),
        ("opencode", "pre-tool-use", {"tool": "edit", "args": {"filePath": "x"}}, BEFORE, WRITES, ["x"]),
        ("opencode", "pre-tool-use", {"tool": "patch", "args": {"patchText": PATCH}}, BEFORE, WRITES, None),
        ("pi", "post-tool-use", {"tool": "read", "args": {"path": "x"}}, AFTER, READS, ["x"]),
    ],
)
def test_what_is_said_is_understood(
    name: str, event: str, said: object, when: str, act: str, paths: list[str] | None
) -> None:
    call = of(name).read(event, said)
    assert (call.when, call.act) == (when, act)
    assert list(call.paths) == (paths if paths is not None else ["a.py", "b.py", "c d.py", "e.py"])


def test_session_and_directory_come_in_the_words_of_each() -> None:
    assert of("claude").read("Stop", {"session_id": "s", "cwd": "/w"}).session == "s"
    opencode = of("opencode").read("stop", {"sessionID": "s", "directory": "/w"})
    assert (opencode.session, opencode.cwd) == ("s", "/w")
    cursor = of("cursor").read("stop", {"conversation_id": "s", "workspace_roots": ["/w", "/v"]})
    assert (cursor.session, cursor.cwd) == ("s", "/w")


@pytest.mark.parametrize("said", [None, [], "x", 1, {}, {"tool_name": "Write"}, {"tool_name": 1, "tool_input": {}}])
def test_what_is_no_use_of_a_tool_is_not_understood(said: object) -> None:
    with pytest.raises(NotUnderstoodError):
        of("claude").read("PreToolUse", said)


@pytest.mark.parametrize(
    ("name", "event", "said"),
    [
        ("claude", "PreToolUse", used("Write", file_path=5)),
        ("claude", "PreToolUse", used("Write", file_path="")),
        ("claude", "PreToolUse", used("Edit")),
        ("claude", "PreToolUse", used("Write", file_path=["a"], path="b")),
        ("gemini", "BeforeTool", used("write_file", paths=["a"])),
        ("codex", "PreToolUse", used("apply_patch", command="nothing")),
        ("pi", "pre-tool-use", used("edit", path=None)),
    ],
)
def test_a_write_of_nobody_knows_what_is_not_understood(name: str, event: str, said: object) -> None:
    with pytest.raises(NotUnderstoodError):
        of(name).read(event, said)


def test_a_write_is_of_the_file_that_the_tool_takes_whatever_else_is_said() -> None:
    said = used("Write", file_path="held.py", paths=["free.py"])
    assert list(of("claude").read("PreToolUse", said).paths) == ["held.py"]
    assert of("codex").read("PreToolUse", used("Bash", command="ls")).act == ""
    assert of("claude").read("PreToolUse", used("Read", file_path=5)).act == ""


def test_no_call_names_more_files_than_are_judged() -> None:
    patch = "\n".join(f"*** Add File: {number}" for number in range(MOST_PATHS + 10))
    assert len(of("codex").read("PreToolUse", used("apply_patch", command=patch)).paths) == MOST_PATHS


def test_each_is_refused_in_its_own_words() -> None:
    verdict = Verdict(reason="no")
    for name in ("claude", "codex"):
        spoken = of(name).speak("pre-tool-use", verdict)
        assert spoken.exit_code == 0
        assert json.loads(spoken.stdout) == {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": "no",
            }
        }
    assert json.loads(of("gemini").speak("BeforeTool", verdict).stdout) == {"decision": "deny", "reason": "no"}
    cursor = json.loads(of("cursor").speak("preToolUse", verdict).stdout)
    assert (cursor["permission"], cursor["agent_message"]) == ("deny", "no")
    for name in ("opencode", "pi"):
        spoken = of(name).speak("pre-tool-use", verdict)
        assert (spoken.exit_code, spoken.stderr, spoken.stdout) == (2, "no\n", "")


@pytest.mark.parametrize("known", DIALECTS, ids=lambda known: known.name)
def test_what_is_not_refused_is_not_allowed_either(known: Dialect) -> None:
    """The person's own settings still decide."""
    before = next(event for event, (when, _) in known.events.items() if when == BEFORE)
    spoken = known.speak(before, Verdict())
    assert "allow" not in spoken.stdout
    assert (spoken.stdout.strip() in ("", "{}"), spoken.stderr, spoken.exit_code) == (True, "", 0)


@pytest.mark.parametrize("known", DIALECTS, ids=lambda known: known.name)
def test_afterwards_nothing_is_refused_any_more(known: Dialect) -> None:
    for event, (when, _) in known.events.items():
        if when != BEFORE:
            spoken = known.speak(event, Verdict(reason="too late"))
            assert spoken.exit_code == 0
            assert "deny" not in spoken.stdout
            assert "too late" in spoken.stdout + spoken.stderr


def test_the_command_line_knows_the_same_agents() -> None:
    assert [(name, title) for name, title, _ in hook.AGENTS] == [(known.name, known.title) for known in DIALECTS]
    for name, _, event in hook.AGENTS:
        assert of(name).events[event][0] == BEFORE


@pytest.mark.parametrize("known", DIALECTS, ids=lambda known: known.name)
def test_a_notice_is_said_where_it_can_be_and_permits_nothing(known: Dialect) -> None:
    for event, (when, _) in known.events.items():
        spoken = known.speak(event, Verdict(notice="a message", warning="seen"))
        assert spoken.exit_code == 0
        if known.can_inform(event):
            assert when != BEFORE, "nobody waits for it there"
            said = json.loads(spoken.stdout)
            assert said["systemMessage"] == "seen"
            inner = said["hookSpecificOutput"]
            assert inner.pop("hookEventName").lower() == event.replace("-", "")
            assert inner == {"additionalContext": "a message"}


def test_whose_doing_it_is_is_told_by_claude_code() -> None:
    assert of("claude").read("PostToolUse", {**used("Bash", command="ls"), "agent_id": "a1"}).helper == "a1"
    assert of("claude").read("PostToolUse", used("Bash", command="ls")).helper == ""
