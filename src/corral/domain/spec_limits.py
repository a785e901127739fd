"""The limits in one table of a `corral.toml`: `cpu_weight`, `cpu_quota`, `memory_high`, `memory_max`, `tasks_max`,
`io_weight`, each checked by itself. How they go together is in `spec_limits_sense`.
"""

from corral.domain.limits import LIMIT_NAMES, USUAL_WEIGHT, WEIGHTS
from corral.domain.limits_text import INFINITY, percent, written_limit
from corral.domain.spec_problems import shown
from corral.domain.spec_sizes import NUMBER, means_no_limit, read_size, unit_hint
from corral.domain.spec_table import Table, type_word

#: What a table says: name → value, with None for what it lifts. What it leaves open is not in it.
Said = dict[str, int | None]

#: The tables that take limits, for remedies.
TAKEN_BY = "[team], [defaults] or an [agents.NAME] table"
#: What other tools call these keys.
ALIASES = {
    "cpushares": "cpu_weight", "cpu_shares": "cpu_weight", "shares": "cpu_weight", "cpuweight": "cpu_weight",
    "cpu": "cpu_quota", "cpus": "cpu_quota", "cpu_limit": "cpu_quota", "cpu_max": "cpu_quota", "cpuquota": "cpu_quota",
    "memory_reservation": "memory_high", "mem_reservation": "memory_high", "mem_high": "memory_high",
    "memory_soft": "memory_high", "memoryhigh": "memory_high",
    "memory": "memory_max", "mem": "memory_max", "ram": "memory_max", "mem_max": "memory_max",
    "mem_limit": "memory_max", "memory_limit": "memory_max", "max_memory": "memory_max", "memorymax": "memory_max",
    "pids": "tasks_max", "pids_max": "tasks_max", "pids_limit": "tasks_max", "nproc": "tasks_max",
    "max_tasks": "tasks_max", "max_processes": "tasks_max", "processes": "tasks_max", "threads": "tasks_max",
    "tasks": "tasks_max", "tasks_limit": "tasks_max", "tasksmax": "tasks_max",
    "blkio_weight": "io_weight", "io": "io_weight", "ioweight": "io_weight",
}  # fmt: skip

#: The shell that starts an agent and the smallest program beside it take about this much. Less also is what a number
#: without its unit comes to: 512, where 512M was meant.
LEAST_MEMORY = 4 * 1024**2
#: The shell that starts an agent, the agent, and two for a pipe that the agent runs.
LEAST_TASKS = 4
#: What a number in JSON holds exactly, in any language; no host has as much.
_MOST_MEMORY = 2**53
#: Linux has no more process ids.
_MOST_TASKS = 2**22
#: Linux takes no less than a millisecond of the usual tenth of a second.
_LEAST_QUOTA = 1
#: More processors than Linux can have.
_MOST_QUOTA = 1_000_000
_MOST_WEIGHT = 10_000

_EXAMPLES = {
    "cpu_weight": "cpu_weight = 200",
    "cpu_quota": 'cpu_quota = "150%"',
    "memory_high": 'memory_high = "1.5G"',
    "memory_max": 'memory_max = "2G"',
    "tasks_max": "tasks_max = 512",
    "io_weight": "io_weight = 50",
}
_LEAST_QUOTA_REMEDY = f'Linux takes "{_LEAST_QUOTA}%" or more; no limit is written "{INFINITY}"'


def read_limits(table: Table) -> Said:
    """What `table` says about limits. A wrong one counts as lifted, so that nothing else is wrong because of it."""
    said: Said = {}
    for name in LIMIT_NAMES:
        if name in table.data:
            said[name] = _limit(table, name, table.data[name])
    return said


def _limit(table: Table, name: str, value: object) -> int | None:
    if name in WEIGHTS:
        return _weight(table, name, value)
    if value == INFINITY:
        return None
    if means_no_limit(value):
        table.wrong(name, "this is not how no limit is written", f'write {name} = "{INFINITY}"')
        return None
    if name == "cpu_quota":
        return _quota(table, name, value)
    if name == "tasks_max":
        return _tasks(table, name, value)
    return _memory(table, name)


def _weight(table: Table, name: str, value: object) -> int | None:
    if value == INFINITY or means_no_limit(value):
        remedy = f"the usual weight is {name} = {USUAL_WEIGHT}, and the largest is {_MOST_WEIGHT}"
        table.wrong(name, "a weight is a share, and no share is without limit", remedy)
        return None
    weight = table.take(name, int, _EXAMPLES[name])
    if weight is None or weight == USUAL_WEIGHT:
        return None
    if not 1 <= weight <= _MOST_WEIGHT:
        remedy = f"a number from 1 to {_MOST_WEIGHT}, such as {_EXAMPLES[name]}; {USUAL_WEIGHT} is the usual"
        table.wrong(name, "this is out of range", remedy)
        return None
    return weight


def _quota(table: Table, name: str, value: object) -> int | None:
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        table.wrong(name, f"this must be a string, not {type_word(type(value))}", f"such as {_EXAMPLES[name]}")
        return None
    quota = percent(value) if isinstance(value, str) else None
    if quota is None:
        if isinstance(value, str):
            message = f"{shown(value)} is no whole number of percent"
        else:
            message = f"this must be a string with a percent sign, not {type_word(type(value))}"
        table.wrong(name, message, _quota_meant(str(value)))
        return None
    if quota < _LEAST_QUOTA:
        table.wrong(name, "with this nothing could ever run", _LEAST_QUOTA_REMEDY)
        return None
    if quota > _MOST_QUOTA:
        table.wrong(name, "this is more than any host has", f'such as {_EXAMPLES[name]}, or "{INFINITY}"')
        return None
    return quota


def _quota_meant(text: str) -> str:
    """What would be right for a quota without a percent sign, or with half a percent in it."""
    if NUMBER.fullmatch(text) and len(text) < 8:
        number = float(text)
        if number == 0:
            return _LEAST_QUOTA_REMEDY
        # Few mean some hundredths of a processor, and few hosts have more processors than this.
        if number <= 64 and (hundred := round(number * 100)) >= _LEAST_QUOTA:
            return f'for {text} {"processor" if number == 1 else "processors"} write cpu_quota = "{hundred}%"'
        if number > 64:
            return f'write cpu_quota = "{round(number)}%": it is in percent of one processor'
    return 'such as cpu_quota = "150%", which is one and a half processors'


def _memory(table: Table, name: str) -> int | None:
    size = read_size(table, name, _EXAMPLES[name])
    if size is None:
        return None
    if size < LEAST_MEMORY:
        hint = unit_hint(table.data[name], _MOST_MEMORY)
        remedy = f'{hint}At least "4M": the shell that starts an agent takes that with a small program beside it'
        table.wrong(name, "no program lives with this little", remedy)
        return None
    if size > _MOST_MEMORY:
        table.wrong(name, "this is more than any host has", f'such as {_EXAMPLES[name]}, or "{INFINITY}"')
        return None
    return size


def _tasks(table: Table, name: str, value: object) -> int | None:
    if type(value) is not int:
        message = f"this must be an integer, not {type_word(type(value))}"
        table.wrong(name, message, f'such as {_EXAMPLES[name]}, or "{INFINITY}"')
        return None
    if value < LEAST_TASKS:
        remedy = (
            f"at least {LEAST_TASKS}: the shell that starts an agent, the agent, and two for a pipe that it runs; "
            f"most programs need {_EXAMPLES[name]} or so"
        )
        table.wrong(name, "no agent can run with so few processes and threads", remedy)
        return None
    if value > _MOST_TASKS:
        remedy = f"at most {_MOST_TASKS}, or {written_limit(name, None)}"
        table.wrong(name, "Linux has no room for so many", remedy)
        return None
    return value
