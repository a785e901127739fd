"""The results, for people and for programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median

from bench import coordination_report, policy, sends
from bench.activity import Activity
from bench.audit import Audit
from bench.authorised import Authorised
from bench.coordination import Coordination
from bench.doctor import MOST_SECONDS, Round
from bench.idle import Idle
from bench.observing import Observing
from bench.processes import MOST_LIST_SECONDS, MOST_NOTICE_SECONDS, Processes
from bench.rounds import Ratio, Times
from bench.sends import Sends
from bench.sizes import Size
from bench.teardown import MOST_SECONDS as MOST_AFTER_GRACE
from bench.teardown import Teardown

#: The goals: issue 2, "How good". The processes that they are about, and the share of a core.
OURS = ("daemon", "keeper")
MOST_IDLE_CPU = 0.002
_MIB = 1024 * 1024


@dataclass(frozen=True)
class Results:
    """What was measured of what can be."""

    sizes: Sequence[Size] = ()
    teardown: Teardown | None = None
    doctor: Round | None = None
    processes: Processes | None = None
    coordination: Coordination | None = None
    activity: Activity | None = None
    sends: Sends | None = None
    audit: Audit | None = None
    decisions: policy.Decisions | None = None
    observing: Observing | None = None
    authorised: Authorised | None = None


def as_json(machine: dict[str, str], results: Results) -> dict[str, object]:
    """One document with every number of the run."""
    document: dict[str, object] = {
        "machine": machine,
        "sizes": [
            {
                "agents": size.agents,
                "containment": size.level,
                "seconds": {**size.starting.seconds, **size.listing.seconds},
                "ratios": [asdict(ratio) for ratio in size.ratios],
                "idle": size.idle
                and {**asdict(size.idle), "forks_met": _forks_met(size.idle), "cpu_met": _cpu_met(size.idle)},
                "memory": {name: asdict(memory) for name, memory in size.memory.items()},
            }
            for size in results.sizes
        ],
    }
    if ending := results.teardown:
        document["teardown"] = {
            "agents": ending.agents,
            "descendants": ending.descendants,
            "grace": ending.grace,
            "seconds": ending.times.seconds,
            "left": ending.left,
            "met": {name: ending.in_time(name) and ending.is_clean(name) for name in ending.ours()},
        }
    if doctor := results.doctor:
        document["doctor"] = {"processes": doctor.processes, "seconds": doctor.times.seconds, "met": doctor.met}
    if started := results.processes:
        document["processes"] = {
            "containment": started.level,
            "seconds": {**started.starting.seconds, **started.output.seconds},
            "ratios": [asdict(ratio) for ratio in started.ratios],
            "notices": started.notices,
            "crowd": started.crowd,
            "listing": started.listing,
            "left": started.left,
        }
    if agreed := results.coordination:
        document["coordination"] = coordination_report.as_json(agreed)
    if seen := results.activity:
        document["activity"] = {
            "agents": seen.agents,
            "seconds": seen.times.seconds,
            "ratios": [asdict(ratio) for ratio in seen.ratios],
        }
    if sent := results.sends:
        document["send"] = {
            "seconds": sent.times.seconds,
            "ratios": [asdict(ratio) for ratio in sent.ratios],
            "met": sent.goal_met,
        }
    if audited := results.audit:
        document["audit"] = {
            "seconds": audited.times.seconds,
            "ratios": [asdict(ratio) for ratio in audited.ratios],
        }
    if decided := results.decisions:
        document["policy"] = {"seconds": decided.times.seconds, "met": decided.goal_met}
    if watched := results.observing:
        document["observing"] = {
            "seconds": watched.times.seconds,
            "ratios": [asdict(ratio) for ratio in watched.ratios],
        }
    if authorised := results.authorised:
        document["authorised"] = {
            "seconds": authorised.times.seconds,
            "ratios": [asdict(ratio) for ratio in authorised.ratios],
        }
    return document


def as_text(machine: dict[str, str], results: Results, main: int) -> str:
    """Tables in Markdown: the main size in full, then how every figure grows, then the teardown and the doctor."""
    levels = dict.fromkeys(size.level for size in results.sizes)
    where = {**machine, **({"contained by": ", ".join(levels)} if levels else {})}
    parts = [_table(("where", ""), [list(item) for item in where.items()])]
    if results.sizes:
        parts += _size_parts(results.sizes, main)
    if ending := results.teardown:
        parts += [
            f"### Taking down {ending.agents} agents with {ending.descendants} stubborn processes each",
            _table(("command", "median", "slowest", "left, median", "left, most"), _ending_rows(ending)),
            _table(("what", "found", "goal", ""), _ending_goal_rows(ending)),
        ]
    if doctor := results.doctor:
        parts += [
            f"### The doctor among {doctor.processes} processes",
            _table(("command", "median", "fastest", "slowest", "goal", ""), _doctor_rows(doctor)),
        ]
    if started := results.processes:
        parts += [
            f"### Commands that are started for an agent (contained by: {started.level})",
            _table(
                ("what", "median", "fastest", "slowest"), [*_time_rows(started.starting), *_time_rows(started.output)]
            ),
            _table(("ratio", "median", "middle half", "goal", ""), [_ratio_row(ratio) for ratio in started.ratios]),
            _table(("what", "found", "goal", ""), _process_rows(started)),
        ]
    if agreed := results.coordination:
        parts += [
            coordination_report.heading(agreed),
            _table(coordination_report.RACE_HEADINGS, coordination_report.race_rows(agreed)),
            _table(
                ("ratio", "median", "middle half", "goal", ""),
                [*coordination_report.rate_rows(agreed), *(_ratio_row(ratio) for ratio in agreed.ratios)],
            ),
            _table(("what", "found", "goal", ""), coordination_report.goal_rows(agreed)),
            *coordination_report.missing(agreed),
        ]
    if seen := results.activity:
        parts += [
            f"### What {seen.agents} agents do, refreshed",
            _table(("what", "median", "fastest", "slowest"), _time_rows(seen.times)),
            _table(("ratio", "median", "middle half", "goal", ""), [_ratio_row(ratio) for ratio in seen.ratios]),
        ]
    if sent := results.sends:
        parts += [
            f"### A message, until it is observed (goal: {sends.GOAL * 1000:.0f} ms, "
            f"{'met' if sent.goal_met else 'missed'})",
            _table(("what", "median", "fastest", "slowest"), _time_rows(sent.times)),
            _table(("ratio", "median", "middle half", "goal", ""), [_ratio_row(ratio) for ratio in sent.ratios]),
        ]
    if audited := results.audit:
        parts += [
            "### A request, with an audit trail and without",
            _table(("what", "median", "fastest", "slowest"), _short_time_rows(audited.times)),
            _table(("ratio", "median", "middle half", "goal", ""), [_ratio_row(ratio) for ratio in audited.ratios]),
        ]
    if decided := results.decisions:
        parts += [
            f"### Decisions of the policy (goal: {policy.MOST_SECONDS * 1000:g} ms at the median, "
            f"{'met' if decided.goal_met else 'missed'})",
            _table(("what", "median", "fastest", "slowest"), _short_time_rows(decided.times)),
        ]
    if authorised := results.authorised:
        parts += [
            "### A request, decided and audited as on a shared server, and without",
            _table(("what", "median", "fastest", "slowest"), _short_time_rows(authorised.times)),
            _table(("ratio", "median", "middle half", "goal", ""), [_ratio_row(ratio) for ratio in authorised.ratios]),
        ]
    if watched := results.observing:
        parts += [
            "### A key and its echo, for who drives a terminal",
            _table(("what", "median", "fastest", "slowest"), _time_rows(watched.times)),
            _table(("ratio", "median", "middle half", "goal", ""), [_ratio_row(ratio) for ratio in watched.ratios]),
        ]
    return "\n\n".join(parts) + "\n"


def _size_parts(sizes: Sequence[Size], main: int) -> list[str]:
    size = next(size for size in sizes if size.agents == main)
    parts = []
    if times := [*_time_rows(size.starting), *_time_rows(size.listing)]:
        what = " and ".join(
            word for word, part in (("starting", size.starting), ("listing", size.listing)) if part.seconds
        )
        parts += [
            f"### Times: {what} {main} agents",
            _table(("command", "median", "fastest", "slowest"), times),
            f"### Ratios at {main} agents",
            _table(
                ("ratio", "median", "middle half", "goal", ""),
                [_ratio_row(ratio) for ratio in size.ratios],
            ),
        ]
    if size.idle:
        parts += [
            f"### Idle for {size.idle.seconds:.0f} s with {main} agents",
            _table(("what", "found", "goal", ""), _idle_rows(size.idle)),
        ]
    return [
        *parts,
        "### Growth",
        _table(("figure", *(f"{size.agents} agents" for size in sizes)), _growth_rows(sizes)),
    ]


def _time_rows(times: Times) -> list[list[str]]:
    return [
        [name, *(f"{value * 1000:.1f} ms" for value in (times.median(name), min(seconds), max(seconds)))]
        for name, seconds in times.seconds.items()
    ]


def _short_time_rows(times: Times) -> list[list[str]]:
    return [
        [name, *(f"{value * 1000:.3f} ms" for value in (times.median(name), min(seconds), max(seconds)))]
        for name, seconds in times.seconds.items()
    ]


def _ending_rows(ending: Teardown) -> list[list[str]]:
    return [
        [
            name,
            *(f"{value:.2f} s" for value in (ending.times.median(name), max(ending.times.seconds[name]))),
            *(f"{value:g}" for value in (median(left), max(left))),
        ]
        for name, left in ending.left.items()
    ]


def _ending_goal_rows(ending: Teardown) -> list[list[str]]:
    most = f"≤ {MOST_AFTER_GRACE:g} s + {ending.grace:g} s of grace"
    rows = []
    for name in ending.ours():
        slowest = f"{max(ending.times.seconds[name]):.2f} s"
        rows += [
            [f"{name}: processes left, most", str(max(ending.left[name])), "0", _verdict(ending.is_clean(name))],
            [f"{name}: slowest", slowest, most, _verdict(ending.in_time(name))],
        ]
    return rows


def _doctor_rows(doctor: Round) -> list[list[str]]:
    goal = [f"< {MOST_SECONDS * 1000:.0f} ms", _verdict(doctor.met)]
    return [[*row, *goal] for row in _time_rows(doctor.times)]


def _process_rows(started: Processes) -> list[list[str]]:
    notice, slowest = f"{median(started.notices) * 1000:.2f} ms", f"{max(started.listing) * 1000:.1f} ms"
    most = f"< {MOST_NOTICE_SECONDS * 1000:.0f} ms"
    listed = f"< {MOST_LIST_SECONDS * 1000:.0f} ms"
    return [
        ["from the end of a process to whoever waits for it, median", notice, most, _verdict(started.noticed_in_time)],
        [f"listing {started.crowd} that run, slowest", slowest, listed, _verdict(started.listed_in_time)],
        ["of them left after one down", str(started.left), "0", _verdict(started.left == 0)],
    ]


def _ratio_row(ratio: Ratio) -> list[str]:
    spread = f"{ratio.low:.2f} – {ratio.high:.2f}"
    return [_name(ratio), f"{ratio.median:.2f}", spread, ratio.goal, _verdict(ratio.met)]


def _idle_rows(idle: Idle) -> list[list[str]]:
    whose = ", ".join(idle.cpu) if idle.exact else "the whole machine: there is no strace"
    ours = f"processor time of {' + '.join(OURS)}, as a share of one core"
    return [
        [f"processes forked ({whose})", str(idle.forks), "0", _verdict(_forks_met(idle))],
        ["… when one agent was restarted after it", str(idle.forks_of_a_restart), "", ""],
        [ours, _percent(_cpu(idle)), f"< {_percent(MOST_IDLE_CPU)}", _verdict(_cpu_met(idle))],
        *([f"… of the {name} alone", _percent(share), "", ""] for name, share in idle.cpu.items()),
    ]


def _growth_rows(sizes: Sequence[Size]) -> list[list[str]]:
    def row(name: str, figure: Callable[[Size], str]) -> list[str]:
        return [name, *(figure(size) for size in sizes)]

    first = sizes[0]
    rows = [[_name(ratio), *(_median_of(size, ratio) for size in sizes)] for ratio in first.ratios]
    idle = [size.idle for size in sizes if size.idle]
    if idle:
        rows += [
            ["processes forked while idle", *(str(one.forks) for one in idle)],
            ["processor time while idle, daemon + keeper", *(_percent(_cpu(one)) for one in idle)],
        ]
    if first.memory:
        rows += [
            *(
                [f"memory of the {name} (PSS)", *(_mib(size.memory[name].pss) for size in sizes)]
                for name in first.memory
            ),
            row("memory of daemon + keeper (PSS)", lambda size: _mib(sum(size.memory[name].pss for name in OURS))),
            row("… that is theirs alone", lambda size: _mib(_own_memory(size))),
            row(f"… of it for each agent beyond {first.agents}", lambda size: _memory_of_each_more(first, size)),
        ]
    return rows


def _median_of(size: Size, wanted: Ratio) -> str:
    return next((f"{ratio.median:.2f}" for ratio in size.ratios if _name(ratio) == _name(wanted)), "")


def _memory_of_each_more(first: Size, size: Size) -> str:
    if size.agents == first.agents:
        return ""
    return f"{(_own_memory(size) - _own_memory(first)) / (size.agents - first.agents) / 1024:.1f} KiB"


def _own_memory(size: Size) -> int:
    return sum(size.memory[name].own for name in OURS)


def _cpu(idle: Idle) -> float:
    return sum(idle.cpu[name] for name in OURS)


def _forks_met(idle: Idle) -> bool | None:
    """None if there were forks on the machine and nobody can tell whose."""
    return idle.forks == 0 or (False if idle.exact else None)


def _cpu_met(idle: Idle) -> bool:
    return _cpu(idle) < MOST_IDLE_CPU


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
