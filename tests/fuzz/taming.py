"""What the fuzz may do: everything that the API has, to a team that is there for it, and to nothing else.

Random data would mostly ask for teams and agents that do not exist, and hear that. So the document of the API is told
of things that do exist (`grounded`), which random values are still mixed with. And before a request is sent, what could
reach beyond the scratch instance is made harmless (`tamed`); each such place says why.
"""

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: Left out, as whoever may: it ends the daemon, after which nothing answers. That it does so is tested elsewhere.
LEFT_OUT = {"stop_daemon"}
#: Streams that go on until the listener goes away.
ENDLESS = {"watch_entries", "watch_values", "follow_topic", "join_session"}
#: These take agents away, so they come last, in this order.
LAST = ("pause", "resume", "stop", "restart", "fork", "remove", "down")
#: The only commands that are ever run, whatever the fuzz thinks of.
COMMANDS = ["true", "echo hello", "exit 3", "printf '\\377\\000x'", "echo ("]
ARGVS = [["true"], ["echo", "hello", "é"], ["false"], ["no-such-program-anywhere"], [""]]
#: Nobody waits longer.
_MOMENT = 0.05


@dataclass(frozen=True)
class Ground:
    """What there is to be asked about."""

    #: The team that everything may be done to, and its agents.
    team: str
    agents: Sequence[str]
    #: A directory in which everything may be written.
    directory: str
    #: Other names of things by the parameter or field that takes them.
    known: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    #: The same of things that are somebody else's, with `team` and `agent`: to be named, and left alone.
    others: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    #: Whoever asks may do everything, to others' things as well: so nothing is done to those.
    mighty: bool = False

    def values(self) -> dict[str, list[Any]]:
        hostile = ["../../../../etc/passwd", "#(id)", "-x", "a\u0000b", "\ud7ff\ufffe", "☃" * 300, "."]
        own: dict[str, list[Any]] = {
            "team": [self.team, self.team, "no-such-team", *hostile[:2]],
            "agent": [*self.agents, *self.agents, "no-such-agent", *hostile[:2]],
            "agents": [[name] for name in self.agents] + [list(self.agents), ["no-such-agent"]],
            "cwd": [self.directory, "", "relative", *hostile[:2]],
            "directory": [self.directory],
            "file": [f"{self.directory}/corral.toml", "relative"],
            "command": [*COMMANDS, None],
            "argv": [*ARGVS, []],
            "signal": ["INT", "SIGWINCH", "15", "0", "no-such-signal", "99"],
            "until": ["hello", "(a+)+$", "(", "\\"],
            "filter": ["hello", "[", ""],
            "mode": ["observe", "drive", "moderate", "other"],
            "program": ["claude", "codex", "gemini", "opencode", "no-such-program"],
            "event": ["agent.*", "Stop", "SessionStart", "PreToolUse", "***"],
            "branch": ["main", f"corral/{self.team}/{self.agents[0]}", "HEAD~1", *hostile],
            "path": ["README.md", "src/**", *hostile],
        }
        own |= {name: [*values, *hostile] for name, values in self.known.items()}
        if self.mighty:
            return own
        theirs: dict[str, list[Any]] = {name: list(values) for name, values in self.others.items()}
        if theirs:
            theirs["agents"] = [theirs["agent"]]
        return {name: [*values, *theirs.get(name, ())] for name, values in own.items()}


def grounded(document: Mapping[str, Any], ground: Ground) -> dict[str, Any]:
    """The document, with what is known as one way to choose a value; any other of the type stays possible."""
    told = copy.deepcopy(dict(document))
    values = ground.values()
    for methods in told["paths"].values():
        for operation in methods.values():
            for parameter in operation["parameters"]:
                parameter["schema"] = _offered(parameter["schema"], values.get(parameter["name"]))
    for name, schema in told["components"]["schemas"].items():
        if name.endswith("Body"):
            for field_, wanted in schema.get("properties", {}).items():
                schema["properties"][field_] = _offered(wanted, values.get(field_))
    return told


def _offered(schema: dict[str, Any], known: list[Any] | None) -> dict[str, Any]:
    if not known:
        return schema
    if schema.get("type") == "array" and not isinstance(known[0], list):
        return {**schema, "items": _offered(schema["items"], known)}
    return {"anyOf": [{"enum": known}, {"enum": known}, schema]}


def right(ground: Ground) -> dict[str, Any]:
    """A value that means something, by the names of parameters and fields."""
    own: dict[str, Any] = {"team": ground.team, "agent": ground.agents[0], "cwd": ground.directory}
    own |= {"agents": list(ground.agents), "directory": ground.directory, "command": COMMANDS[0], "env": {}, "argv": []}
    own |= {"signal": "WINCH", "mode": "observe", "program": "claude", "path": "README.md", "workdir": "", "text": "hi"}
    own |= {"file": f"{ground.directory}/corral.toml", "columns": 80, "rows": 24, "title": "a title", "labels": []}
    own |= {"patterns": ["docs/**"], "until": "hello", "filter": "hello", "branch": f"corral/{ground.team}/x"}
    return own | {name: values[0] for name, values in ground.known.items() if values}


def settled(
    ground: Ground, path: Mapping[str, Any], query: Mapping[str, Any], body: Any
) -> tuple[dict[str, Any], dict[str, Any], Any]:
    """The same request about the team, the agent and the other things that there are, wherever it names one."""
    known = right(ground)

    def put_right(name: str, value: Any) -> Any:
        if name not in known or isinstance(known[name], list):
            return known.get(name, value)
        return [known[name]] if isinstance(value, list) else known[name]

    meant = {name: put_right(name, value) for name, value in query.items()}
    if isinstance(body, dict):
        body = {name: put_right(name, value) for name, value in body.items()}
    return {name: put_right(name, value) for name, value in path.items()}, meant | {"team": ground.team}, body


def tamed(operation: str, ground: Ground, query: dict[str, Any], body: Any) -> tuple[dict[str, Any], Any]:
    """The query and the body that are sent: harmless, and as they were in all else."""
    query = dict(query)
    if "follow" in query:
        query["follow"] = 0  # a stream without an end; what it says at first is the same without
    for name in ("wait", "timeout"):
        if name in query or operation in ("wait_for_process", "show_merge"):
            given = query.get(name)
            # Where it is left out, some wait for as long as it takes.
            query[name] = _MOMENT if given in (None, "") else _brief(given)
    if operation == "member_rm":
        query["dry_run"] = 1  # else whoever asks may not be there any more, or those who are to stay
    if not isinstance(body, dict):
        return query, body
    body = dict(body)
    if operation == "member_add":
        body["dry_run"] = True  # as above: a role is what is fuzzed, and not to be another one meanwhile
    for name in ("wait", "timeout"):
        if name in body:
            body[name] = _brief(body[name])
    if operation == "execute":
        # It runs commands: only those of the list. What is of another type is not run but refused, so it stays.
        body["timeout"] = _brief(body.get("timeout", _MOMENT))
        if isinstance(body.get("command"), str) and body["command"] not in COMMANDS:
            body["command"] = COMMANDS[0]
        if _texts(body.get("argv")) and body["argv"] and body["argv"] not in ARGVS:
            body["argv"] = ARGVS[0]
    if operation == "register_hooks" and isinstance(body.get("directory"), str) and body["directory"].startswith("/"):
        body["directory"] = ground.directory  # files of coding agents' configurations are written there
    if operation == "up":
        # What a team declares is started: a valid declaration only for a look at what would be done.
        body["dry_run"] = True
    if operation in LAST and body.get("team") in (None, ""):
        body["team"] = ground.team  # nobody else's, also when no other is left
    return query, body


def _brief(value: Any) -> Any:
    """A time to wait that is over soon; what is no time stays as it is."""
    if value is None:
        return _MOMENT  # in a body: for ever
    if isinstance(value, list):
        return [_brief(item) for item in value]
    if isinstance(value, bool):
        return value
    try:
        seconds = float(value)
    except (TypeError, ValueError, OverflowError):
        return value
    # Infinity is no time to wait either: it has to be refused.
    return value if not math.isfinite(seconds) or seconds <= _MOMENT else _MOMENT


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
