"""The results for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from bench.rounds import Ratio, Times
from bench.sizes import Size

MOST_IDLE_CPU = 0.002
#: The processes that the goals for idle and memory are about.
OURS = ("daemon", "keeper")
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
                "idle": {**asdict(size.idle), "met": _idle_met(size)},
                "memory": size.memory,
            }
            for size in sizes
        ],
    }


def as_text(machine: dict[str, str], sizes: Sequence[Size], main: int) -> str:
    """Tables in Markdown: the main size in full, then how every figure grows."""
    size = next(size for size in sizes if size.agents == main)
    parts = [
        "\n".join(f"{name}: {value}" for name, value in machine.items()),
        f"Starting {main} agents, and listing them",
        _table(("what", "median", "lowest", "highest"), [*_times(size.starting), *_times(size.listing)]),
        "Ratios: the median of the rounds, and the middle half of them",
        _table(("ratio", "median", "middle half", "goal", ""), [_ratio(ratio) for ratio in size.ratios]),
        f"Idle for {size.idle.seconds:.0f} s with {main} agents",
        _table(("what", "found", "goal", ""), _idle(size)),
        "Growth",
        _table(("figure", *(f"{size.agents} agents" for size in sizes)), _growth(sizes)),
    ]
    return "\n\n".join(parts) + "\n"


def _times(times: Times) -> list[list[str]]:
    return [
        [name, *(f"{value * 1000:.1f} ms" for value in (times.median(name), min(seconds), max(seconds)))]
        for name, seconds in times.seconds.items()
    ]


def _ratio(ratio: Ratio) -> list[str]:
    spread = f"{ratio.low:.2f} – {ratio.high:.2f}"
    return [f"{ratio.of} ÷ {ratio.to}", f"{ratio.median:.2f}", spread, ratio.goal, _verdict(ratio.met)]


def _idle(size: Size) -> list[list[str]]:
    idle = size.idle
    forks_met, cpu_met = _idle_met(size)
    names = ", ".join(idle.cpu)
    rows = [
        [f"processes forked by {names}", str(idle.forks), "0", _verdict(forks_met)],
        [
            f"… in the restart of one agent after it (counted by {idle.counted_by})",
            str(idle.forks_of_a_restart),
            "",
            "",
        ],
        [
            f"processor time of {' + '.join(OURS)}, of one core",
            _percent(_cpu(size)),
            _percent(MOST_IDLE_CPU, "< "),
            _verdict(cpu_met),
        ],
    ]
    return rows + [[f"… of the {name}", _percent(share), "", ""] for name, share in idle.cpu.items()]


def _growth(sizes: Sequence[Size]) -> list[list[str]]:
    def row(name: str, values: list[str]) -> list[str]:
        return [name, *values]

    rows = []
    for ratio in sizes[0].ratios:
        found = [
            next((f"{other.median:.2f}" for other in size.ratios if (other.of, other.to) == (ratio.of, ratio.to)), "")
            for size in sizes
        ]
        rows.append(row(f"{ratio.of} ÷ {ratio.to}", found))
    rows.append(row("forks while idle", [str(size.idle.forks) for size in sizes]))
    rows.append(row("processor time while idle, daemon + keeper", [_percent(_cpu(size)) for size in sizes]))
    for name in sizes[0].memory:
        rows.append(row(f"memory (PSS), {name}", [_mib(size.memory[name]) for size in sizes]))
    rows.append(row("memory (PSS), daemon + keeper", [_mib(_memory(size)) for size in sizes]))
    rows.append(row("… for each agent beyond the first size", ["", *(_each(sizes[0], size) for size in sizes[1:])]))
    return rows


def _each(base: Size, size: Size) -> str:
    return f"{(_memory(size) - _memory(base)) / (size.agents - base.agents) / 1024:.1f} KiB"


def _memory(size: Size) -> int:
    return sum(size.memory[name] for name in OURS)


def _cpu(size: Size) -> float:
    return sum(size.idle.cpu[name] for name in OURS)


def _idle_met(size: Size) -> tuple[bool, bool]:
    return size.idle.forks == 0, _cpu(size) < MOST_IDLE_CPU


def _percent(share: float, before: str = "") -> str:
    return f"{before}{share * 100:.3f} %"


def _mib(size: int) -> str:
    return f"{size / _MIB:.1f} MiB"


def _verdict(met: bool | None) -> str:
    return "" if met is None else "met" if met else "MISSED"


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headings, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headings))]
    text = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    ]
    text.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(text)
