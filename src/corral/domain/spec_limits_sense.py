"""Whether the limits of a `corral.toml` go together: in one table, with the defaults, and with those of the team."""

from dataclasses import dataclass, field

from corral.domain.limits import Limits
from corral.domain.limits_text import shown_limit, written_limit
from corral.domain.spec_limits import LEAST_MEMORY, LEAST_TASKS, Said, read_limits
from corral.domain.spec_table import Table

#: What one agent cannot have more of than its team. A weight is among siblings, so it is not compared.
_BOUNDED_BY_TEAM = ("cpu_quota", "memory_max", "tasks_max")
#: What each agent of a team needs at least.
_LEAST = {"memory_high": LEAST_MEMORY, "memory_max": LEAST_MEMORY, "tasks_max": LEAST_TASKS}


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds:
    """What the file says about all agents, before it comes to each."""

    #: What `[team]` says, on all agents together.
    team: Said = field(default_factory=dict)
    #: What `[defaults]` says, for each agent that does not say otherwise.
    defaults: Said = field(default_factory=dict)

    @property
    def team_limits(self) -> Limits:
        return Limits(**self.team)

    def agent_limits(self, table: Table) -> Limits:
        """The limits of the agents that `table` declares: what it says, and the defaults for the rest."""
        own = read_limits(table)
        _check_memory(table, own)
        self._check_with_defaults(table, own)
        _check_below_team(table, own, self.team)
        return Limits(**{**self.defaults, **own})

    def _check_with_defaults(self, table: Table, own: Said) -> None:
        high, most = own.get("memory_high"), own.get("memory_max")
        default_high, default_most = self.defaults.get("memory_high"), self.defaults.get("memory_max")
        if "memory_high" not in own and _above(default_high, most):
            message = (
                f"this is less than the memory_high of [defaults], which is {shown_limit('memory_high', default_high)}"
            )
            remedy = f"set memory_high here as well, or lift it: {written_limit('memory_high', None)}"
            table.wrong("memory_max", message, remedy)
        elif "memory_max" not in own and _above(high, default_most):
            message = (
                f"this is more than the memory_max of [defaults], which is {shown_limit('memory_max', default_most)}"
            )
            remedy = f"set memory_max here as well, or lift it: {written_limit('memory_max', None)}"
            table.wrong("memory_high", message, remedy)


def read_bounds(team: Table | None, defaults: Table | None) -> Bounds:
    """What the two tables say; None for one that is not there."""
    of_team = read_limits(team) if team is not None else {}
    of_defaults = read_limits(defaults) if defaults is not None else {}
    if team is not None:
        _check_memory(team, of_team)
    if defaults is not None:
        _check_memory(defaults, of_defaults)
        # Said once, here, and not again for each agent that takes it.
        _check_below_team(defaults, of_defaults, of_team)
    return Bounds(team=of_team, defaults=of_defaults)


def check_room(team: Table, said: Said, agents: int) -> None:
    """Report where `[team]` has no room for as many agents as the file declares."""
    for name, least in _LEAST.items():
        needed = least * agents
        if _above(needed, said.get(name)):
            message = f"{agents} agents cannot run with {shown_limit(name, said[name])} together"
            team.wrong(name, message, f"at least {written_limit(name, needed)}, and more for them to do something")


def _check_memory(table: Table, said: Said) -> None:
    high, most = said.get("memory_high"), said.get("memory_max")
    if _above(high, most):
        message = f"this is more than memory_max, which is {shown_limit('memory_max', most)}"
        remedy = "choose one below it: memory_high slows down what memory_max would kill a little later"
        table.wrong("memory_high", message, remedy)


def _check_below_team(table: Table, said: Said, team: Said) -> None:
    too_much = [name for name in _BOUNDED_BY_TEAM if _above(said.get(name), team.get(name))]
    for name in too_much:
        message = f"this is more than the whole team may have, {shown_limit(name, team[name])}"
        table.wrong(name, message, f"at most {written_limit(name, team[name])}, or raise it in [team]")
    if "memory_max" not in too_much and _above(said.get("memory_high"), team.get("memory_max")):
        message = f"this is more than the whole team may have, {shown_limit('memory_max', team['memory_max'])}"
        table.wrong("memory_high", message, "choose one below it, or raise memory_max in [team]")


def _above(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and one > other
