"""The results of coordination, as rows of tables and as a document."""

from __future__ import annotations

from dataclasses import asdict

from bench.coordination import (
    CHECK,
    LEASES,
    LEAST_CYCLES,
    MOST_OVERLAP_SECONDS,
    MOST_P99_SECONDS,
    OVERLAP,
    Coordination,
    Race,
)
from bench.lease_drivers import CORRAL, FILELOCK
from bench.sizes import PYTHON

RACE_HEADINGS = ("what", "by", "a second", "median", "p99")
_NAMES = ("leases", "tasks")


def heading(agreed: Coordination) -> str:
    return f"### Agreeing: {agreed.clients} clients at once, and a reply means that it is on the disk"


def race_rows(agreed: Coordination) -> list[list[str]]:
    """Rates and times of every contestant."""
    rows = []
    for what, race in (("lease taken and given back", agreed.leases), ("task claimed and acked", agreed.tasks)):
        for name in race.loads:
            shown = f"{name} (nothing on the disk)" if name == FILELOCK else name
            times = [f"{race.quantile(name, share) * 1000:.1f} ms" for share in (0.5, 0.99)]
            rows.append([what, shown, f"{race.rate(name):.0f}", *times])
    return rows


def rate_rows(agreed: Coordination) -> list[list[str]]:
    """How many times as much Corral does as each of the others."""
    return [
        [f"{what}: {CORRAL} ÷ {ratio.of}", f"{ratio.median:.2f}", f"{ratio.low:.2f} – {ratio.high:.2f}", "", ""]
        for what, race in zip(_NAMES, (agreed.leases, agreed.tasks), strict=True)
        for ratio in race.ratios()
    ]


def goal_rows(agreed: Coordination) -> list[list[str]]:
    """The goals, and whether they are met."""
    race, overlap = agreed.leases, agreed.overlap.median(OVERLAP)
    return [
        ["lease cycles a second", f"{race.rate(CORRAL):.0f}", f"≥ {LEAST_CYCLES}", _verdict(agreed.fast_enough)],
        [
            "… p99",
            f"{race.quantile(CORRAL, 0.99) * 1000:.1f} ms",
            f"< {MOST_P99_SECONDS * 1000:.0f} ms",
            _verdict(agreed.soon_enough),
        ],
        [
            f"overlap check against {LEASES} leases",
            f"{overlap * 1000:.3f} ms",
            f"< {MOST_OVERLAP_SECONDS * 1000:.0f} ms",
            _verdict(agreed.overlap_in_time),
        ],
        *([f"{name}, median", f"{agreed.checking.median(name) * 1000:.1f} ms", "", ""] for name in (PYTHON, CHECK)),
    ]


def missing(agreed: Coordination) -> list[str]:
    """A line about who could not be measured, if anybody."""
    names = dict.fromkeys([*agreed.leases.missing, *agreed.tasks.missing])
    return [f"Not installed here, and left out: {', '.join(names)}."] if names else []


def as_json(agreed: Coordination) -> dict[str, object]:
    """Every number."""
    return {
        "clients": agreed.clients,
        **{name: _race(race) for name, race in zip(_NAMES, (agreed.leases, agreed.tasks), strict=True)},
        "seconds": {**agreed.overlap.seconds, **agreed.checking.seconds},
        "ratios": [asdict(ratio) for ratio in agreed.ratios],
        "met": {
            "cycles": agreed.fast_enough,
            "p99": agreed.soon_enough,
            "overlap": agreed.overlap_in_time,
        },
    }


def _race(race: Race) -> dict[str, object]:
    return {
        "missing": race.missing,
        "ratios": [asdict(ratio) for ratio in race.ratios()],
        "loads": {
            name: [
                {"rate": load.rate, "median": load.quantile(0.5), "p99": load.quantile(0.99), "slowest": load.took[-1]}
                for load in loads
            ]
            for name, loads in race.loads.items()
        },
    }


def _verdict(met: bool) -> str:
    return "met" if met else "MISSED"
