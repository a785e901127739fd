"""The results, for people and for programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict

from bench.rounds import Ratio, Times
from bench.sizes import Size

#: The goals: issue 2, "How good". The processes that they are about, and the share of a core.
OURS = ("daemon", "keeper")
MOST_IDLE_CPU = 0.002
_MIB = 1024 * 1024


def as_json(machine: dict[str, str], sizes: Sequence[Size]) -> dict[str, object]:
    """One document with every number of the run."""
    return {
        "machine": machine,
        "sizes": [
            {
                "agents": size.agents,
                "seconds": {**size.starting.seconds, **size.listing.seconds},
                "ratios": [asdict(ratio) for ratio in size.ratios],
                "idle": {**asdict(size.idle), "forks_met": _forks_met(size), "cpu_met": _cpu_met(size)},
                "memory": {name: asdict(memory) for name, memory in size.memory.items()},
            }
            for size in sizes
        ],
    }


def as_text(machine: dict[str, str], sizes: Sequence[Size], main: int) -> str:
    """Tables in Markdown: the main size in full, then how every figure grows."""
    size = next(size for size in sizes if size.agents == main)
    ratios = [_ratio_row(ratio) for ratio in size.ratios]
    parts = [
        _table(("where", ""), [list(item) for item in machine.items()]),
        f"### Times: starting and listing {main} agents",
        _table(("command", "median", "fastest", "slowest"), [*_time_rows(size.starting), *_time_rows(size.listing)]),
        f"### Ratios at {main} agents",
        _table(("ratio", "median", "middle half", "goal", ""), ratios),
        f"### Idle for {size.idle.seconds:.0f} s with {main} agents",
        _table(("what", "found", "goal", ""), _idle_rows(size)),
        "### Growth",
        _table(("figure", *(f"{size.agents} agents" for size in sizes)), _growth_rows(sizes)),
    ]
    return "\n\n".join(parts) + "\n"


def _time_rows(times: Times) -> list[list[str]]:
    return [
        [name, *(f"{value * 1000:.1f} ms" for value in (times.median(name), min(seconds), max(seconds)))]
        for name, seconds in times.seconds.items()
    ]


def _ratio_row(ratio: Ratio) -> list[str]:
    spread = f"{ratio.low:.2f} – {ratio.high:.2f}"
    return [_name(ratio), f"{ratio.median:.2f}", spread, ratio.goal, _verdict(ratio.met)]


def _idle_rows(size: Size) -> list[list[str]]:
    idle = size.idle
    whose = ", ".join(idle.cpu) if idle.exact else "the whole machine: there is no strace"
    ours = f"processor time of {' + '.join(OURS)}, as a share of one core"
    return [
        [f"processes forked ({whose})", str(idle.forks), "0", _verdict(_forks_met(size))],
        ["… when one agent was restarted after it", str(idle.forks_of_a_restart), "", ""],
        [ours, _percent(_cpu(size)), f"< {_percent(MOST_IDLE_CPU)}", _verdict(_cpu_met(size))],
        *([f"… of the {name} alone", _percent(share), "", ""] for name, share in idle.cpu.items()),
    ]


def _growth_rows(sizes: Sequence[Size]) -> list[list[str]]:
    def row(name: str, figure: Callable[[Size], str]) -> list[str]:
        return [name, *(figure(size) for size in sizes)]

    first = sizes[0]
    return [
        *([_name(ratio), *(_median_of(size, ratio) for size in sizes)] for ratio in first.ratios),
        row("processes forked while idle", lambda size: str(size.idle.forks)),
        row("processor time while idle, daemon + keeper", lambda size: _percent(_cpu(size))),
        *([f"memory of the {name} (PSS)", *(_mib(size.memory[name].pss) for size in sizes)] for name in first.memory),
        row("memory of daemon + keeper (PSS)", lambda size: _mib(sum(size.memory[name].pss for name in OURS))),
        row("… that is theirs alone", lambda size: _mib(_own_memory(size))),
        row(f"… of it for each agent beyond {first.agents}", lambda size: _memory_of_each_more(first, size)),
    ]


def _median_of(size: Size, wanted: Ratio) -> str:
    return next((f"{ratio.median:.2f}" for ratio in size.ratios if _name(ratio) == _name(wanted)), "")


def _memory_of_each_more(first: Size, size: Size) -> str:
    if size.agents == first.agents:
        return ""
    return f"{(_own_memory(size) - _own_memory(first)) / (size.agents - first.agents) / 1024:.1f} KiB"


def _own_memory(size: Size) -> int:
    return sum(size.memory[name].own for name in OURS)


def _cpu(size: Size) -> float:
    return sum(size.idle.cpu[name] for name in OURS)


def _forks_met(size: Size) -> bool | None:
    """None if there were forks on the machine and nobody can tell whose."""
    return size.idle.forks == 0 or (False if size.idle.exact else None)


def _cpu_met(size: Size) -> bool:
    return _cpu(size) < MOST_IDLE_CPU


def _name(ratio: Ratio) -> str:
    return f"{ratio.of} ÷ {ratio.to}"


def _percent(share: float) -> str:
    return f"{share * 100:.3f} %"


def _mib(size: int) -> str:
    return f"{size / _MIB:.1f} MiB"


def _verdict(met: bool | None) -> str:
    return "" if met is None else "met" if met else "MISSED"


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headings, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headings))]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    head, *body = ["| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in lines]
    return "\n".join([head, rule, *body])
