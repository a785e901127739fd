"""A team whose agents share one checkout, and what the hooks of their programs are answered."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from tests.faults.support.teams import IDLE, toml
from tests.support import repos
from tests.support.instance import Instance


class Sharing:
    """Agents `a` and `b` of the team `shop`, both in `project`, in which `notes.txt` says "one"."""

    def __init__(
        self, instance: Instance, project: Path, settings: str = "", command: Sequence[str] = tuple(IDLE)
    ) -> None:
        self.instance = instance
        self.project = repos.make(project)
        self.file = self.project / "notes.txt"
        self.file.write_text("one\n")
        repos.git(self.project, "add", ".")
        repos.git(self.project, "commit", "-q", "-m", "notes")
        shared = {"command": list(command), "workspace": "shared"}
        instance.spec(f"{toml({'a': shared, 'b': shared}, repo=self.project)}\n{settings}")
        instance.run("up")

    def identity(self, agent: str, **more: str) -> dict[str, str]:
        """What a program of the agent has in its environment, besides what everybody has."""
        whole = self._environment(self.instance.json("ps"), agent)
        own = {name: value for name, value in whole.items() if name.startswith("CORRAL_")}
        return {**own, **more}

    @staticmethod
    def _environment(listed: list[dict[str, Any]], agent: str) -> dict[str, str]:
        (pid,) = [one["pid"] for one in listed if one["agent"] == agent]
        entries = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        return dict(os.fsdecode(entry).split("=", 1) for entry in entries if b"=" in entry)

    def hook(
        self, agent: str, event: str, said: object, *, program: str = "claude", **environment: str
    ) -> CompletedProcess[str]:
        """One call of a hook of the agent; `said` goes out as it is if it is a text or bytes."""
        raw = said if isinstance(said, str | bytes) else json.dumps(said)
        env = self.identity(agent, **environment)
        return self.instance.run("hook", program, event, cwd=self.project, input=raw, env=env, check=False)

    def claude(self, agent: str, event: str, tool: str, file: str | Path, *, session: str = "") -> str:
        """A tool of Claude Code at an event; why it is refused, or nothing."""
        said = {
            "session_id": session or f"session of {agent}",
            "cwd": str(self.project),
            "hook_event_name": event,
            "tool_name": tool,
            "tool_input": {"file_path": str(file)},
        }
        done = self.hook(agent, event, said)
        assert done.returncode == 0, done.stderr
        if not done.stdout:
            return ""
        decision = json.loads(done.stdout)["hookSpecificOutput"]
        assert (decision["hookEventName"], decision["permissionDecision"]) == ("PreToolUse", "deny")
        return str(decision["permissionDecisionReason"])

    def reads(self, agent: str, file: str | Path, **more: str) -> None:
        """The agent reads a file, from the beginning to the end."""
        for event in ("PreToolUse", "PostToolUse"):
            assert self.claude(agent, event, "Read", file, **more) == ""

    def may_write(self, agent: str, file: str | Path, **more: str) -> str:
        """Why the agent may not write a file; nothing if it may, and then it is not begun."""
        refused = self.claude(agent, "PreToolUse", "Edit", file, **more)
        if not refused:
            self.claude(agent, "PostToolUseFailure", "Edit", file, **more)
        return refused

    def writes(self, agent: str, file: Path, text: str, **more: str) -> None:
        """The agent writes a file, from the beginning to the end."""
        assert self.claude(agent, "PreToolUse", "Write", file, **more) == ""
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        assert self.claude(agent, "PostToolUse", "Write", file, **more) == ""
