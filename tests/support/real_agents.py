"""Real coding agents from npm, each in a home of its own, talking to the scripted model.

They are large, so each is installed when the first test needs it, in a cache outside of the repository. Versions are
pinned: a new one is a decision, and shows in a test what it changed. Where there is no npm, the tests are skipped and
say so; with `CORRAL_AGENTS=require` in the environment they fail instead.
"""

from __future__ import annotations

import fcntl
import json
import os
import pwd
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

_MODEL = "scripted"
#: As long as a key is, and the last part of it is what Claude Code asks about.
_KEY = "sk-scripted-0123456789abcdefghij"
_INSTALL_SECONDS = 600


@dataclass(frozen=True)
class Package:
    """What to install."""

    name: str
    version: str
    program: str
    #: The package's own step after the download, which npm leaves out.
    afterwards: str = ""

    def installed(self) -> str:
        """The path of its program, installed now if need be."""
        npm, node = shutil.which("npm"), shutil.which("node")
        if npm is None or node is None:
            problem = f"no npm here to install {self.name} with"
            if os.environ.get("CORRAL_AGENTS") == "require":
                pytest.fail(problem)
            pytest.skip(problem)
        # Not below HOME: tests have one of their own, which goes with them.
        cache = Path(pwd.getpwuid(os.getuid()).pw_dir) / ".cache" / "corral-tests"
        place = cache / f"{self.program}-{self.version}"
        program = place / "node_modules" / ".bin" / self.program
        cache.mkdir(parents=True, exist_ok=True)
        with open(cache / f"{place.name}.lock", "w") as lock:
            # Tests run side by side, and in several checkouts.
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (place / "installed").exists():
                shutil.rmtree(place, ignore_errors=True)
                words = [
                    npm,
                    "install",
                    "--no-audit",
                    "--no-fund",
                    "--prefix",
                    f"{place}",
                    f"{self.name}@{self.version}",
                ]
                subprocess.run(words, check=True, capture_output=True, timeout=_INSTALL_SECONDS)
                if self.afterwards:
                    directory = place / "node_modules" / self.name
                    subprocess.run([node, self.afterwards], cwd=directory, check=True, capture_output=True, timeout=120)
                (place / "installed").touch()
        return str(program)


@dataclass(frozen=True)
class RealAgent:
    """A coding agent that can be started in a project."""

    #: Of its profile.
    name: str
    package: Package
    #: Words that have it do one thing that it is asked for, and end.
    once: tuple[str, ...]
    #: Writes its settings: home, project, address of the model → variables of its environment.
    settle: Callable[[Path, Path, str], dict[str, str]]

    def environment(self, home: Path, project: Path, address: str) -> dict[str, str]:
        """Settle it in this home. The whole environment that it needs."""
        home.mkdir(parents=True, exist_ok=True)
        own = self.settle(home, project, address)
        return {"PATH": os.environ["PATH"], "HOME": str(home), "TERM": "xterm-256color", "LANG": "C.UTF-8", **own}

    def run(self, prompt: str, project: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """Have it do one thing in the project, to the end."""
        return subprocess.run(
            self.argv(prompt),
            cwd=project,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def argv(self, prompt: str) -> list[str]:
        """The command that does one thing."""
        return [self.package.installed(), *self.once, prompt]


def _settle_claude(home: Path, project: Path, address: str) -> dict[str, str]:
    known = {
        "hasCompletedOnboarding": True,
        "projects": {str(project): {"hasTrustDialogAccepted": True}},
        "customApiKeyResponses": {"approved": [_KEY[-20:]]},
    }
    (home / ".claude.json").write_text(json.dumps(known))
    return {
        "ANTHROPIC_BASE_URL": address,
        "ANTHROPIC_API_KEY": _KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


def _settle_codex(home: Path, project: Path, address: str) -> dict[str, str]:
    directory = home / ".codex"
    directory.mkdir(exist_ok=True)
    (directory / "config.toml").write_text(
        f'model = "{_MODEL}"\nmodel_provider = "scripted"\napproval_policy = "never"\n'
        'sandbox_mode = "danger-full-access"\ncheck_for_update_on_startup = false\n'
        f'[model_providers.scripted]\nname = "scripted"\nbase_url = "{address}/v1"\nwire_api = "responses"\n'
        f'[projects."{project}"]\ntrust_level = "trusted"\n'
    )
    return {"CODEX_HOME": str(directory)}


def _settle_opencode(home: Path, project: Path, address: str) -> dict[str, str]:
    del project
    directory = home / ".config" / "opencode"
    directory.mkdir(parents=True, exist_ok=True)
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "scripted",
        "options": {"baseURL": f"{address}/v1", "apiKey": _KEY},
        "models": {_MODEL: {"name": _MODEL, "tool_call": True}},
    }
    settings = {
        "model": f"scripted/{_MODEL}",
        "small_model": f"scripted/{_MODEL}",
        "autoupdate": False,
        "share": "disabled",
        "provider": {"scripted": provider},
    }
    (directory / "opencode.json").write_text(json.dumps(settings))
    return {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}


def _settle_pi(home: Path, project: Path, address: str) -> dict[str, str]:
    del project
    directory = home / ".pi" / "agent"
    directory.mkdir(parents=True, exist_ok=True)
    provider = {
        "baseUrl": f"{address}/v1",
        "api": "openai-completions",
        "apiKey": _KEY,
        "models": [{"id": _MODEL}],
        "compat": {"supportsDeveloperRole": False, "supportsReasoningEffort": False},
    }
    (directory / "models.json").write_text(json.dumps({"providers": {"scripted": provider}}))
    (directory / "settings.json").write_text(json.dumps({"defaultProvider": "scripted", "defaultModel": _MODEL}))
    return {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1"}


CLAUDE = RealAgent(
    "claude",
    Package("@anthropic-ai/claude-code", "2.1.197", "claude", "install.cjs"),
    ("--permission-mode", "acceptEdits", "-p"),
    _settle_claude,
)
CODEX = RealAgent("codex", Package("@openai/codex", "0.166.0", "codex"), ("exec",), _settle_codex)
OPENCODE = RealAgent(
    "opencode", Package("opencode-ai", "1.18.33", "opencode", "postinstall.mjs"), ("run",), _settle_opencode
)
PI = RealAgent("pi", Package("@mariozechner/pi-coding-agent", "0.73.1", "pi"), ("-p",), _settle_pi)
