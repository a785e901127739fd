"""What an agent may touch: what is declared of it, and what sees to each part of that. Pure."""

from __future__ import annotations

from dataclasses import dataclass, fields

from corral.domain.bindings import ANY_PORT
from corral.domain.path_patterns import Pattern, parse

#: The network as any program has it, or none at all, loopback included.
ANY_NETWORK, NO_NETWORK = "any", "none"
NETWORKS = (ANY_NETWORK, NO_NETWORK)

#: Who sees to `write`: the kernel where it can, else git's hooks and the merge queue; the kernel alone, or nothing is
#: started; not the kernel, so that an agent can merge and rebase what others wrote.
AUTO, KERNEL, COMMIT = "auto", "kernel", "commit"
ENFORCES = (AUTO, KERNEL, COMMIT)

#: What `enforced` says besides: git's hooks are off, so that it is looked at when a branch is merged; and both of two.
MERGE, BOTH = "merge", "+"


@dataclass(frozen=True, kw_only=True, slots=True)
class Access:
    """The `[agents.NAME.access]` table, but for its ports (`bindings`)."""

    #: Patterns from the top of its workspace, and directories by their whole path (`/…`, `~/…`). None: not declared.
    write: tuple[str, ...] | None = None
    #: The same; but each is a directory, or a file.
    read: tuple[str, ...] | None = None
    #: One of `NETWORKS`.
    network: str = ANY_NETWORK
    #: One of `ENFORCES`.
    enforce: str = AUTO

    @property
    def kernel_writes(self) -> bool:
        """The kernel is to see to `write`, where it can."""
        return self.write is not None and self.enforce != COMMIT


ANY_ACCESS = Access()


@dataclass(frozen=True, kw_only=True, slots=True)
class Enforced:
    """What sees to each part of what is declared; empty for what is not."""

    write: str = ""
    read: str = ""
    bind: str = ""
    network: str = ""
    #: Why it is no better, in a sentence; empty if it could not be.
    why: str = ""


NOT_ENFORCED = Enforced()
ENFORCED_NAMES = tuple(field.name for field in fields(Enforced))


@dataclass(frozen=True, kw_only=True, slots=True)
class Obstacles:
    """Why a host's kernel cannot see to something; empty for what it can."""

    files: str = ""
    ports: str = ""
    network: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """A directory of the workspace that the kernel is told of, for one pattern."""

    #: The parts of its path; none is the workspace itself.
    parts: tuple[str, ...]
    #: The pattern is all that is below it, and no less.
    exact: bool


def is_elsewhere(text: str) -> bool:
    """True for a directory by its whole path, and false for a pattern in the workspace."""
    return text.startswith(("/", "~/")) or text == "~"


def place_of(pattern: Pattern) -> Place:
    """The smallest directory in which everything that the pattern names can be made, replaced and removed.

    A file is replaced by a new one under its name, by editors and by git, so for a file it is the directory around it.
    """
    if pattern.is_plain:
        return Place(pattern.beginning[:-1], exact=False)
    return Place(pattern.beginning, exact=pattern.rest.rstrip("/") in ("", "**"))


def places(write: tuple[str, ...]) -> tuple[Place, ...]:
    """The directories of the workspace for all patterns, without those that are below another of them."""
    found = [place_of(parse(text)) for text in write if not is_elsewhere(text)]
    exact = {place.parts: True for place in found}
    for place in found:
        exact[place.parts] = exact[place.parts] and place.exact
    outer = [parts for parts in exact if not any(parts[:depth] in exact for depth in range(len(parts)))]
    return tuple(Place(parts, exact[parts]) for parts in outer)


def shown_write(write: tuple[str, ...]) -> str:
    """What may be written, in a sentence."""
    return f"{', '.join(write)} only" if write else "nothing"


def inexact(write: tuple[str, ...]) -> tuple[str, ...]:
    """The patterns that the kernel knows no directory for which is no more than they name."""
    return tuple(text for text in write if not is_elsewhere(text) and not place_of(parse(text)).exact)


def enforced(access: Access, bind: str, obstacles: Obstacles, *, repository: bool, hooks: bool) -> Enforced:
    """What sees to what is declared. `repository`: its workspace is one; `hooks`: with Corral's hooks in it.

    A part that is declared and comes back empty cannot be seen to, by anything.
    """
    by_git = (COMMIT if hooks else MERGE) if repository else ""
    write, why = "", []
    if access.write is not None:
        beyond = inexact(access.write)
        if not access.kernel_writes:
            write, reason = by_git, f'enforce = "{COMMIT}"'
        elif obstacles.files:
            write, reason = by_git, obstacles.files
        elif beyond:
            write = KERNEL + BOTH + by_git if by_git else KERNEL
            reason = f"the kernel knows directories only, and is told of more than {', '.join(beyond)}"
        else:
            write, reason = KERNEL, ""
        why += [f"write: {reason}"] if reason else []
    return Enforced(
        write=write,
        read=KERNEL if access.read is not None and not obstacles.files else "",
        bind=KERNEL if bind != ANY_PORT and not obstacles.ports else "",
        network=KERNEL if access.network != ANY_NETWORK and not obstacles.network else "",
        why="; ".join(why),
    )


def objections(access: Access, bind: str, obstacles: Obstacles, seen: Enforced) -> list[tuple[str, str]]:
    """What of the declared nothing would see to, each with what helps; empty if all of it is seen to."""
    newer = "or use a newer kernel"
    found = []
    if bind != ANY_PORT and not seen.bind:
        text = f'bind = "{bind}" is not possible here: {obstacles.ports}'
        found.append((text, f"leave bind out of corral.toml, {newer}"))
    if access.network != ANY_NETWORK and not seen.network:
        text = f'network = "{access.network}" is not possible here: {obstacles.network}'
        found.append((text, "leave network out of corral.toml"))
    if access.read is not None and not seen.read:
        found.append((f"read is not possible here: {obstacles.files}", f"leave read out of corral.toml, {newer}"))
    if access.write is not None and access.enforce == KERNEL and seen.write != KERNEL:
        text = f'write with enforce = "{KERNEL}" is not possible here: {obstacles.files or seen.why}'
        remedy = f"leave enforce out of corral.toml: then commits and merges are looked at; {newer}"
        found.append((text, remedy))
    elif access.write is not None and not seen.write:
        nobody = "nothing looks at what it changes: its workspace is no worktree or checkout of the team's repository"
        reason = f"{obstacles.files}, and {nobody}" if access.kernel_writes else nobody
        remedy = 'use workspace = "worktree", or leave write out of corral.toml'
        found.append((f"write is not possible here: {reason}", remedy))
    return found
