"""What an agent's table says of its kind: whether it is a service, and when it counts as ready."""

from corral.domain.bounded_patterns import SYNTAX, NoPatternError, compiled
from corral.domain.kinds import AGENT, KINDS, SERVICE
from corral.domain.port_blocks import HIGHEST, PORT_VARIABLE
from corral.domain.ready_rules import NO_RULE, ReadyRule
from corral.domain.spec_problems import did_you_mean
from corral.domain.spec_table import Table, type_word

KEYS = ("kind", "ready", "after")
ALIASES = {
    "type": "kind",
    "readiness": "ready", "ready_when": "ready", "started_when": "ready",
    "depends_on": "after", "needs": "after", "requires": "after", "wants": "after",
}  # fmt: skip
_KIND_ALIASES = {
    "coding-agent": AGENT, "program": AGENT,
    "daemon": SERVICE, "database": SERVICE, "process": SERVICE, "server": SERVICE,
}  # fmt: skip
_RULES = ("port", "log", "command")
_RULE_ALIASES = {
    "listen": "port", "listens": "port", "ports": "port", "tcp": "port",
    "line": "log", "output": "log", "pattern": "log", "regex": "log",
    "check": "command", "cmd": "command", "exec": "command", "healthcheck": "command", "run": "command",
}  # fmt: skip
READY_EXAMPLE = 'ready = { port = "web" }'
_LONGEST = 8192


def read_kind(table: Table, prompt: str) -> str:
    """Whether it is an agent or a service. A service is told nothing, so it has no prompt."""
    kind = table.word("kind", KINDS, AGENT, wrong="is nothing that a team runs", example=SERVICE, aliases=_KIND_ALIASES)
    if kind == SERVICE and prompt:
        table.wrong("prompt", "a service is told nothing, so it has no prompt", "leave it out, or leave kind out")
    return kind


def read_ready_rule(table: Table, ports: tuple[str, ...]) -> ReadyRule:
    """When it counts as ready; `ports` are the names of its own."""
    rule = table.table("ready", READY_EXAMPLE)
    if rule is None:
        return NO_RULE
    rule.only(_RULES, _RULE_ALIASES)
    said = [name for name in _RULES if name in rule.data]
    if len(said) != 1:
        table.wrong("ready", "this needs one of port, log and command, and only one", f"such as {READY_EXAMPLE}")
        return NO_RULE
    if said == ["port"]:
        return ReadyRule(port=_port(rule, ports))
    if said == ["log"]:
        return ReadyRule(log=_log(rule))
    return ReadyRule(command=_text(rule, "command", 'command = "pg_isready"'))


def _port(rule: Table, ports: tuple[str, ...]) -> str:
    value = rule.data["port"]
    if type(value) is int:
        if not 1 <= value <= HIGHEST:
            rule.wrong("port", "this is out of range", f"from 1 to {HIGHEST}, or a name from ports")
        return str(value)
    if not isinstance(value, str):
        message = f"this must be a name or a number, not {type_word(type(value))}"
        rule.wrong("port", message, f"a name from ports, such as {READY_EXAMPLE}")
        return ""
    if value not in ports and value != PORT_VARIABLE:
        meant = did_you_mean(value, ports)
        remedy = f"did you mean '{meant}'?" if meant else f'add it: ports = ["{value}"]. Its first port is "PORT"'
        rule.wrong("port", "this is no name from its ports", remedy)
    return value


def _log(rule: Table) -> str:
    pattern = _text(rule, "log", 'log = "listening on"')
    try:
        if pattern:
            compiled(pattern, crosses_lines=False)
    except NoPatternError as error:
        remedy = f"put a backslash before what is meant as it is; {SYNTAX}"
        rule.wrong("log", f"this is no regular expression: {error}", remedy)
    return pattern


def _text(rule: Table, name: str, example: str) -> str:
    said = rule.take(name, str, example)
    if said is not None and (not said.strip() or "\0" in said or len(said) > _LONGEST):
        rule.wrong(name, f"this is empty, or longer than {_LONGEST} characters", f"such as {example}")
        return ""
    return said or ""
