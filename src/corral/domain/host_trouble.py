"""What keeps a shared server from working although nothing of its set-up is missing: what, and what helps. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from corral.domain.diagnosis import DAEMON, HOST_SETUP, POLICY
from corral.domain.errors import CorralError
from corral.domain.host_names import HELPER, HOME, SERVICE, USER
from corral.domain.host_seen import ServiceSeen

#: A rule that gives nothing: as whom, tags, and commands with a mark of negation before each.
_ALL_FORBIDDEN = re.compile(r"\([^)]*\)( [A-Z_]+:)* ![^,]*(, ![^,]*)*")
_LOG = f"journalctl --unit {SERVICE}"


@dataclass(frozen=True)
class Trouble:
    """One thing of this kind. `check` is the doctor's word for what it is about."""

    check: str
    message: str
    remedy: str


_STARTING = Trouble(DAEMON, f"{SERVICE} is starting, and takes no requests yet", f"look again in a moment; {_LOG}")


@dataclass(frozen=True, kw_only=True)
class DaemonSeen:
    """How the daemon of a shared server answered whoever asked how it is."""

    #: Nobody answers there: what that means, and what helps.
    absent: tuple[str, str] | None = None
    #: It answers, and does nothing for anybody: why, and what helps.
    refuses: tuple[str, str] | None = None
    #: It cannot decide, and so denies everything: what it says, and what helps.
    undecided: tuple[str, str] | None = None
    #: It decided against whoever asked: what it says.
    denied: str = ""
    #: Why checkpoints of its audit trail do not get to where they are to be kept.
    not_shipped: str = ""


def of_daemon(seen: DaemonSeen) -> list[Trouble]:
    """What its answer tells."""
    found = []
    if seen.absent:
        found.append(Trouble(DAEMON, *seen.absent))
    if seen.refuses:
        message, remedy = seen.refuses
        found.append(Trouble(DAEMON, f"the daemon of this host runs, and refuses everything: {message}", remedy))
    if seen.undecided:
        message, remedy = seen.undecided
        found.append(Trouble(POLICY, message, remedy))
    if seen.not_shipped:
        found.append(
            Trouble(
                DAEMON,
                f"checkpoints of the audit trail are not shipped: {seen.not_shipped}",
                f"look at [audit] in {HOME}/config.toml; then sudo corral host setup --check; {_LOG} has more",
            )
        )
    return found


def of_service(service: ServiceSeen) -> list[Trouble]:
    """Whether the manager of the system keeps the daemon up."""
    if not service.failing and not service.restarts:
        return [_STARTING] if service.starting else []
    how_often = {0: "it has just failed", 1: "it was started again once"}.get(
        service.restarts, f"it was started again {service.restarts} times"
    )
    said = f"; its last words: {service.last_words}" if service.last_words else ""
    remedy = f"{_LOG} says why; config.toml in {HOME} is read when it starts"
    return [Trouble(DAEMON, f"{SERVICE} does not stay up: {how_often}{said}", remedy)]


def of_config(problem: CorralError) -> list[Trouble]:
    """`problem` is what is wrong with what is configured. A daemon that was started by something else goes on."""
    return [Trouble(DAEMON, f"the daemon cannot start with what is configured: {problem.message}", problem.remedy)]


def of_sudo(refusal: str, rights: Iterable[str]) -> list[Trouble]:
    """Whether sudo lets the daemon run the helper, and nothing else: `refusal` is what it says if not, `rights` are all
    that it has, as sudo lists them.
    """
    found = []
    if refusal:
        found.append(
            Trouble(
                HOST_SETUP,
                f"sudo does not let {USER} run the helper, without which no keeper is started: {refusal}",
                f"see what of /etc/sudoers and /etc/sudoers.d is in its way: sudo -l -U {USER}",
            )
        )
    if more := [one for one in rights if HELPER not in one and not _ALL_FORBIDDEN.fullmatch(one)]:
        found.append(
            Trouble(
                HOST_SETUP,
                f"{USER} may do more by sudo than to run the helper: {'; '.join(more)}",
                "see where that is said, and take it away: grep -r corral /etc/sudoers /etc/sudoers.d",
            )
        )
    return found


def of_policy(problem: str, remedy: str) -> list[Trouble]:
    """`problem` is what is wrong with the files of the policy, if something is."""
    if not problem:
        return []
    return [
        Trouble(
            POLICY,
            f"the policy cannot be used, so everything is denied: {problem}",
            f"{remedy or 'mend it'}; sudo corral host setup --check tries it; then sudo systemctl restart {SERVICE}",
        )
    ]
