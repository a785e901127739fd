"""The keys of an `[agents.NAME]` table that say how the agent is kept alive: restart, check, stuck_after, lifetime."""

from corral.domain.restarts import DEFAULT_RESTART_LIMITS, RESTART_LIMIT_NAMES, RestartLimits
from corral.domain.spec_durations import read_duration, shown_duration
from corral.domain.spec_model import DEFAULT_RESTART, RESTARTS
from corral.domain.spec_services import READY_EXAMPLE
from corral.domain.spec_table import Table, type_word
from corral.domain.upkeep import DEFAULT_NUDGE, Check, Upkeep

#: The keys besides `restart`.
KEYS = ("check", "start_timeout", "stuck_after", "nudge", "lifetime")
#: What other words there are for these keys.
ALIASES = {
    "health": "check", "health_check": "check", "healthcheck": "check", "liveness": "check", "probe": "check",
    "startup_timeout": "start_timeout", "start_period": "start_timeout",
    "stuck": "stuck_after", "idle_timeout": "stuck_after", "stall_after": "stuck_after",
    "max_age": "lifetime", "max_lifetime": "lifetime", "ttl": "lifetime",
    "restart_policy": "restart",
}  # fmt: skip
_RESTART_KEYS = ("policy", *RESTART_LIMIT_NAMES)
_RESTART_ALIASES = {
    "max_attempts": "attempts", "max_restarts": "attempts", "retries": "attempts", "burst": "attempts",
    "within": "steady", "window": "steady", "reset_after": "steady",
    "backoff": "delay", "first": "delay", "pause": "delay",
    "max_delay": "longest", "max_backoff": "longest",
    "when": "policy",
}  # fmt: skip
_CHECK_KEYS = ("command", "every", "timeout", "failures")
_CHECK_ALIASES = {
    "cmd": "command", "run": "command", "test": "command",
    "interval": "every", "period": "every",
    "retries": "failures", "threshold": "failures",
}  # fmt: skip
_RESTART_EXAMPLE = 'restart = { policy = "on-failure", attempts = 5 }'
_CHECK_EXAMPLE = 'check = "curl -fsS localhost:$PORT/health"'
_LONGEST_COMMAND, _LONGEST_NUDGE = 8192, 8192
_MOST_ATTEMPTS, _MOST_FAILURES = 1_000_000, 1000
_DAY = 86400.0
#: Of each duration: the least, the most, and how it is written.
_DURATIONS: dict[str, tuple[float, float, str]] = {
    "steady": (0.1, 30 * _DAY, 'steady = "10m"'),
    "delay": (0.01, _DAY, 'delay = "1s"'),
    "longest": (0.01, _DAY, 'longest = "1m"'),
    "every": (0.1, _DAY, 'every = "30s"'),
    "timeout": (0.1, 3600.0, 'timeout = "10s"'),
    "start_timeout": (0.1, _DAY, 'start_timeout = "1m"'),
    "stuck_after": (1.0, 30 * _DAY, 'stuck_after = "20m"'),
    "lifetime": (1.0, 365 * _DAY, 'lifetime = "8h"'),
}


def read_restart(table: Table) -> tuple[str, RestartLimits]:
    """The restart policy and its limits: a word, or a table with both."""
    if not isinstance(table.data.get("restart"), dict):
        return _policy(table, "restart"), DEFAULT_RESTART_LIMITS
    inner = table.table("restart", _RESTART_EXAMPLE)
    assert inner is not None
    inner.only(_RESTART_KEYS, _RESTART_ALIASES)
    if "policy" not in inner.data:
        inner.missing("policy", f"add it, such as {_RESTART_EXAMPLE}")
    policy = _policy(inner, "policy")
    attempts = _number(inner, "attempts", 1, _MOST_ATTEMPTS, DEFAULT_RESTART_LIMITS.attempts)
    limits = RestartLimits(
        attempts=attempts,
        steady=_seconds(inner, "steady") or DEFAULT_RESTART_LIMITS.steady,
        delay=_seconds(inner, "delay") or DEFAULT_RESTART_LIMITS.delay,
        longest=_seconds(inner, "longest") or DEFAULT_RESTART_LIMITS.longest,
    )
    if limits.delay > limits.longest:
        message = f"this is longer than longest, which is {shown_duration(limits.longest)}"
        inner.wrong("delay", message, "choose a shorter delay, or a longer longest")
    return policy, limits


def read_upkeep(table: Table, restarts: RestartLimits) -> Upkeep:
    """What the other keys say, and the defaults for the rest."""
    nudge = table.take("nudge", str, 'nudge = "Are you stuck?"')
    if nudge is not None and (len(nudge) > _LONGEST_NUDGE or "\0" in nudge):
        table.wrong("nudge", f"this is longer than {_LONGEST_NUDGE} characters, or has a NUL in it", "say it shorter")
    stuck_after = _seconds(table, "stuck_after")
    if nudge is not None and "stuck_after" not in table.data:
        table.wrong("nudge", "nobody looks whether this agent is stuck", 'add stuck_after = "20m"')
    start_timeout = _start_timeout(table)
    return Upkeep(
        restarts=restarts,
        check=_check(table, start_timeout),
        start_timeout=start_timeout,
        stuck_after=stuck_after,
        nudge=DEFAULT_NUDGE if nudge is None else nudge.strip(),
        lifetime=_seconds(table, "lifetime"),
    )


def _policy(table: Table, key: str) -> str:
    return table.word(key, RESTARTS, DEFAULT_RESTART, wrong="is no restart policy", example="on-failure")


def _start_timeout(table: Table) -> float | None:
    if "start_timeout" in table.data and not any(key in table.data for key in ("check", "ready", "prompt")):
        message = "without ready, prompt and check nobody can tell whether it has started"
        table.wrong("start_timeout", message, f"add {READY_EXAMPLE} or {_CHECK_EXAMPLE}: it says when it has")
    return _seconds(table, "start_timeout")


def _check(table: Table, start_timeout: float | None) -> Check | None:
    value = table.data.get("check")
    if value is None:
        return None
    if not isinstance(value, str | dict):
        table.wrong("check", f"this must be a string or a table, not {type_word(type(value))}", _CHECK_EXAMPLE)
        return None
    default = Check(command="")
    start_timeout = start_timeout or default.start_timeout
    if isinstance(value, str):
        return Check(command=_command(table, "check", value), start_timeout=start_timeout)
    inner = table.table("check", _CHECK_EXAMPLE)
    assert inner is not None
    inner.only(_CHECK_KEYS, _CHECK_ALIASES, {"start_timeout": "the agent's table"})
    return Check(
        command=_command(inner, "command", inner.need("command", str, 'command = "make check"')),
        every=_seconds(inner, "every") or default.every,
        timeout=_seconds(inner, "timeout") or default.timeout,
        failures=_number(inner, "failures", 1, _MOST_FAILURES, default.failures),
        start_timeout=start_timeout,
    )


def _command(table: Table, key: str, value: str | None) -> str:
    if value is not None and (not value.strip() or "\0" in value or len(value) > _LONGEST_COMMAND):
        message = f"this is empty, or longer than {_LONGEST_COMMAND} characters"
        table.wrong(key, message, f"a command for a shell, such as {_CHECK_EXAMPLE}")
    return value or ""


def _seconds(table: Table, name: str) -> float | None:
    if name not in table.data:
        return None
    least, most, example = _DURATIONS[name]
    return read_duration(table, name, example, least=least, most=most)


def _number(table: Table, name: str, least: int, most: int, default: int) -> int:
    value = table.take(name, int, f"{name} = {default}")
    if value is not None and not least <= value <= most:
        table.wrong(name, "this is out of range", f"a number from {least} to {most}, such as {name} = {default}")
        return default
    return default if value is None else value
