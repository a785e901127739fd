"""Which agents of a `corral.toml` start after which: `after = ["db"]`."""

from collections.abc import Sequence
from dataclasses import replace

from corral.domain.spec_model import AgentSpec
from corral.domain.spec_table import Table, type_word

_EXAMPLE = 'after = ["db"]'


def read_after(table: Table) -> tuple[str, ...]:
    """The names that `after` has, each once. What they mean is known when all tables are read."""
    said = table.take("after", list, _EXAMPLE)
    for number, name in enumerate(said or (), 1):
        if not isinstance(name, str):
            message = f"name {number} must be a string, not {type_word(type(name))}"
            table.wrong("after", message, f"names of agents, such as {_EXAMPLE}")
            return ()
    return tuple(dict.fromkeys(name for name in said or () if isinstance(name, str)))


def settle_order(agents: Table, specs: Sequence[AgentSpec]) -> tuple[AgentSpec, ...]:
    """The agents, with `after` naming agents and no tables. What cannot be is reported: nobody, and a circle."""
    if not any(spec.after for spec in specs):
        return tuple(specs)  # as in most files, also in those of hundreds
    by_name = {spec.name: [spec.name] for spec in specs}
    by_table: dict[str, list[str]] = {}
    for spec in specs:
        by_table.setdefault(spec.declared_as, []).append(spec.name)
    meant = {**by_name, **by_table}
    reported: set[tuple[str, str]] = set()
    settled = []
    for spec in specs:
        for name in spec.after:
            if name not in meant and (spec.declared_as, name) not in reported:
                reported.add((spec.declared_as, name))
                close = agents.problems.meant(name, meant)
                remedy = f"did you mean '{close}'?" if close else f"the agents are {', '.join(by_table)}"
                _wrong(agents, spec, f"there is no agent {name}", remedy)
        after = (other for name in spec.after for other in meant.get(name, ()))
        settled.append(replace(spec, after=tuple(dict.fromkeys(after))))
    circle = _circle({spec.name: spec.after for spec in settled})
    if circle:
        first = next(spec for spec in settled if spec.name == circle[0])
        if len(circle) == 1:
            _wrong(agents, first, f"{circle[0]} would start after itself", "leave it out")
        else:
            way = ", which is after ".join([*circle, circle[0]])
            _wrong(agents, first, f"nobody could start: {way}", "leave one of them out of after")
    return tuple(settled)


def _wrong(agents: Table, spec: AgentSpec, message: str, remedy: str) -> None:
    agents.problems.add((*agents.path, spec.declared_as, "after"), message, remedy)


def _circle(after: dict[str, tuple[str, ...]]) -> list[str]:
    """Names of which each is after the next, and the last after the first; empty if there are none."""
    done: set[str] = set()
    for start in after:
        way: list[str] = []
        below = [iter((start,))]
        while below:
            name = next(below[-1], None)
            if name is None:
                below.pop()
                if way:
                    done.add(way.pop())
            elif name in way:
                return way[way.index(name) :]
            elif name not in done:
                way.append(name)
                below.append(iter(after.get(name, ())))
    return []
