"""The `[agents.NAME]` tables of a `corral.toml`."""

import re

from corral.domain import names
from corral.domain.limits import LIMIT_NAMES
from corral.domain.process_limits import PROCESS_LIMIT_NAMES
from corral.domain.spec_access import KEYS as ACCESS_KEYS
from corral.domain.spec_access import read_access
from corral.domain.spec_labels import read_labels
from corral.domain.spec_limits import ALIASES as LIMIT_ALIASES
from corral.domain.spec_limits_sense import Bounds
from corral.domain.spec_model import MAX_AGENTS, SHARED, WORKTREE, AgentSpec
from corral.domain.spec_order import read_after, settle_order
from corral.domain.spec_paths import resolved
from corral.domain.spec_ports import KEYS as PORTS_KEYS
from corral.domain.spec_ports import read_port_names
from corral.domain.spec_problems import did_you_mean, shown_path
from corral.domain.spec_services import ALIASES as SERVICE_ALIASES
from corral.domain.spec_services import KEYS as SERVICE_KEYS
from corral.domain.spec_services import read_kind, read_ready_rule
from corral.domain.spec_table import Table, type_word
from corral.domain.spec_upkeep import ALIASES as UPKEEP_ALIASES
from corral.domain.spec_upkeep import KEYS as UPKEEP_KEYS
from corral.domain.spec_upkeep import read_restart, read_upkeep
from corral.domain.spec_users import AGENT_KEYS as USER_KEYS
from corral.domain.spec_users import ALIASES as USER_ALIASES
from corral.domain.spec_users import read_run_as
from corral.domain.terminals import NO_TERMINAL, TERMINALS, TMUX

#: The keys of an agent's table; the limits come to them.
KEYS = (
    *("command", "count", "workspace", "env", "restart", "prompt", "terminal", "stdin", "ports", "labels", "access"),
    *SERVICE_KEYS,
    *UPKEEP_KEYS,
    *USER_KEYS,
)
#: What other tools call these keys.
_ALIASES = {
    "args": "command", "argv": "command", "exec": "command", "run": "command",
    "instances": "count", "replicas": "count", "scale": "count",
    "cwd": "workspace", "dir": "workspace", "directory": "workspace", "workdir": "workspace",
    "environment": "env",
    "initial_prompt": "prompt", "instructions": "prompt", "message": "prompt", "task": "prompt",
    "pty": "terminal", "tty": "terminal",
    "input": "stdin", "stdin_open": "stdin",
    "capabilities": "labels", "label": "labels", "skills": "labels", "tags": "labels",
    "expose": "ports", "listen": "ports", "port": "ports",
    **SERVICE_ALIASES,
    **UPKEEP_ALIASES,
    **USER_ALIASES,
    **LIMIT_ALIASES,
}  # fmt: skip
_TERMINAL_ALIASES = {
    "false": NO_TERMINAL, "no": NO_TERMINAL, "off": NO_TERMINAL, "pipe": NO_TERMINAL, "process": NO_TERMINAL,
    "on": TMUX, "pty": TMUX, "screen": TMUX, "true": TMUX, "tty": TMUX, "yes": TMUX,
}  # fmt: skip
_ELSEWHERE = {
    "repo": "[team]",
    "systemd": "[containment]",
    **dict.fromkeys(PROCESS_LIMIT_NAMES, "[processes]"),
    **dict.fromkeys(PORTS_KEYS, "[ports]"),
}
_COMMAND_EXAMPLE = 'command = ["claude"], or command = "make watch" for a shell'
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: Linux takes no longer argument and no longer `NAME=value` (MAX_ARG_STRLEN, with its closing NUL).
_LONGEST_ARGUMENT = 131071


def read_agents(agents: Table, directory: str, has_repo: bool, bounds: Bounds, block: int) -> tuple[AgentSpec, ...]:
    """All agents that the tables declare, expanded, in the order of the file. `block` is how many ports each has."""
    if not agents.data:
        agents.problems.add(agents.path, "there are no agents", f"add [agents.builder] with {_COMMAND_EXAMPLE}")
    declared_in: dict[str, str] = {}
    specs: list[AgentSpec] = []
    for name in agents.data:
        table = _agent_table(agents, name)
        if table is None:
            continue
        _check_name(agents, name)
        for spec in _expanded(name, table, directory, has_repo, bounds, block, room=MAX_AGENTS - len(specs)):
            other = declared_in.setdefault(spec.name, name)
            if other == name:
                specs.append(spec)
                continue
            agents.wrong(
                name,
                f"the agent {spec.name} is declared twice, by {_header(other)} and by {_header(name)}",
                "give one of the two tables another name",
            )
            break
    return settle_order(agents, specs)


def _agent_table(agents: Table, name: str) -> Table | None:
    value = agents.data[name]
    if name in KEYS and type(value) is not dict:
        agents.wrong(name, "this key stands in no agent's table", "give the agent a name: [agents.builder]")
        return None
    if name in LIMIT_NAMES and type(value) is not dict:
        remedy = "put it below [defaults] for every agent, or give the agent a name: [agents.builder]"
        agents.wrong(name, "this key stands in no agent's table", remedy)
        return None
    return agents.table(name, f'{_header(name)} with command = ["claude"]')


def _check_name(agents: Table, name: str) -> None:
    if not names.is_valid(name):
        nearest = names.suggestion(name)
        remedy = f"did you mean {_header(nearest)}? " if nearest else ""
        agents.wrong(name, "this is not a valid name for an agent", f"{remedy}A name has {names.RULE}")


def _expanded(
    name: str, table: Table, directory: str, has_repo: bool, bounds: Bounds, block: int, room: int
) -> list[AgentSpec]:
    own = {key: f"[{shown_path((*table.path, 'access'))}]" for key in ACCESS_KEYS}
    table.only((*KEYS, *LIMIT_NAMES), _ALIASES, {**_ELSEWHERE, **own})
    count = _count(table)
    if count > room:
        message = f"that makes more than {MAX_AGENTS} agents in one team"
        table.wrong("count", message, f"lower the counts to {MAX_AGENTS} agents together, or make two teams")
        count = 1
    # No count and `count = 1` are the same thing, so both give the plain name.
    expanded = [name] if count == 1 else [f"{name}-{number}" for number in range(1, count + 1)]
    if names.is_valid(name) and not names.is_valid(expanded[-1]):
        table.wrong("count", f"the name {expanded[-1]} would be too long", f"shorten {name}: {names.RULE}")
    command, shell = _command(table)
    workspace = _workspace(table, directory, has_repo)
    env = _env(table)
    restart, restarts = read_restart(table)
    upkeep = read_upkeep(table, restarts)
    prompt = table.take("prompt", str, 'prompt = "Fix the failing tests."') or ""
    # No longer than `send` takes: the limit on the whole file sees to that.
    if "\0" in prompt:
        table.wrong("prompt", "this has a NUL character in it", "leave it out: no terminal can take it")
    limits = bounds.agent_limits(table)
    terminal = table.word(
        "terminal",
        TERMINALS,
        TMUX,
        wrong="is nothing to run an agent in",
        example=NO_TERMINAL if table.data.get("terminal") is False else TMUX,
        aliases=_TERMINAL_ALIASES,
    )
    stdin = _stdin(table, terminal)
    ports = read_port_names(table, block)
    labels = read_labels(table)
    access, bind = read_access(table)
    kind = read_kind(table, prompt)
    ready = read_ready_rule(table, ports)
    after = read_after(table)
    run_as = read_run_as(table)
    return [
        AgentSpec(
            name=agent,
            declared_as=name,
            command=command,
            shell=shell,
            workspace=workspace,
            env=env,
            restart=restart,
            prompt=prompt,
            limits=limits,
            terminal=terminal,
            stdin=stdin,
            ports=ports,
            labels=labels,
            bind=bind,
            access=access,
            upkeep=upkeep,
            kind=kind,
            ready=ready,
            after=after,
            run_as=run_as,
        )
        for agent in expanded
    ]


def _count(table: Table) -> int:
    count = table.take("count", int, "count = 2")
    if count is None:
        return 1
    if not 1 <= count <= MAX_AGENTS:
        table.wrong("count", "this is out of range", f"a number from 1 to {MAX_AGENTS}, such as count = 2")
        return 1
    return count


def _command(table: Table) -> tuple[tuple[str, ...], bool]:
    value = table.data.get("command")
    if isinstance(value, str):
        argv, shell = [value], True
    elif isinstance(value, list):
        for number, word in enumerate(value, 1):
            if not isinstance(word, str):
                message = f"word {number} must be a string, not {type_word(type(word))}"
                table.wrong("command", message, 'put every word in quotes, such as command = ["sleep", "60"]')
                return (), False
        argv, shell = value, False
    else:
        if value is None:
            table.missing("command", f"add it: {_COMMAND_EXAMPLE}")
        else:
            message = f"this must be an array of strings or a string, not {type_word(type(value))}"
            table.wrong("command", message, f"such as {_COMMAND_EXAMPLE}")
        return (), False
    if not argv or not argv[0].strip():
        table.wrong("command", "this names no program", f"such as {_COMMAND_EXAMPLE}")
    elif any("\0" in word for word in argv):
        table.wrong("command", "this has a NUL character in it", "leave it out: no program can be given one")
    elif any(len(word.encode()) > _LONGEST_ARGUMENT for word in argv):
        message = f"one word is longer than the {_LONGEST_ARGUMENT} bytes that Linux takes"
        table.wrong("command", message, "put long text in a file, or in prompt")
    return tuple(argv), shell


def _workspace(table: Table, directory: str, has_repo: bool) -> str:
    value = table.take("workspace", str, f'workspace = "{WORKTREE}"')
    if value is None:
        return WORKTREE if has_repo else SHARED
    if value == WORKTREE and not has_repo:
        remedy = f'add repo = "." to [team], or write workspace = "{SHARED}"'
        table.wrong("workspace", "a worktree needs a repository, and [team] names none", remedy)
    if value in (WORKTREE, SHARED):
        return value
    meant = did_you_mean(value, (WORKTREE, SHARED))
    if meant and "/" not in value:
        remedy = f"did you mean '{meant}'? A directory of that name is written './{value}'"
        table.wrong("workspace", f"this is neither {WORKTREE} nor {SHARED}", remedy)
    return resolved(table, "workspace", value, directory)


def _env(table: Table) -> tuple[tuple[str, str], ...]:
    env = table.table("env", 'env = { NODE_ENV = "test" }')
    if env is None:
        return ()
    kept: list[tuple[str, str]] = []
    for name, value in env.data.items():
        # The value never joins a message: it may be a secret.
        if not _ENV_NAME.fullmatch(name):
            env.wrong(name, "this cannot be a variable's name", "letters, digits and _, such as NODE_ENV")
        elif name.upper().startswith("CORRAL_"):
            env.wrong(name, "names that begin with CORRAL_ are set by corral itself", "choose another name")
        elif not isinstance(value, str):
            message = f"this must be a string, not {type_word(type(value))}"
            env.wrong(name, message, f'put the value in quotes: {name} = "…"')
        elif "\0" in value:
            env.wrong(name, "this has a NUL character in it", "leave it out: no variable can hold one")
        elif len(name) + 1 + len(value.encode()) > _LONGEST_ARGUMENT:
            message = f"this is longer than the {_LONGEST_ARGUMENT} bytes that Linux takes"
            env.wrong(name, message, "put it in a file and give the file's name")
        else:
            kept.append((name, value))
    return tuple(sorted(kept))


def _stdin(table: Table, terminal: str) -> bool:
    value = table.take("stdin", bool, "stdin = false")
    if value is False and terminal == TMUX:
        remedy = f'add terminal = "{NO_TERMINAL}", or leave this out'
        table.wrong("stdin", "an agent in a terminal reads from it, which has no end", remedy)
    return value is not False


def _header(name: str) -> str:
    return f"[{shown_path(('agents', name))}]"
