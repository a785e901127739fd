"""POSIX ACLs as the kernel takes them in an extended attribute. Pure."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

ACCESS = "system.posix_acl_access"
#: Of a directory, for what is made in it.
DEFAULT = "system.posix_acl_default"

#: A version, then entries of tag, permissions and id, in the order of the tags.
_HEADER, _ENTRY = struct.Struct("<I"), struct.Struct("<HHI")
_VERSION, _NO_ID = 2, 0xFFFFFFFF
_OWNER, _USER, _OWN_GROUP, _GROUP, _MASK, _OTHER = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20

#: Users or groups by number, with the permissions of each.
Named = Iterable[tuple[int, int]]


def acl(owner: int, group: int, other: int = 0, *, users: Named = (), groups: Named = ()) -> bytes:
    """Permissions (4 read, 2 write, 1 search) of the owner, the group and others, and of more users and groups."""
    more = [(_USER, allowed, uid) for uid, allowed in sorted(users)]
    entries = [(_OWNER, owner, _NO_ID), *more, (_OWN_GROUP, group, _NO_ID)]
    named_groups = [(_GROUP, allowed, gid) for gid, allowed in sorted(groups)]
    entries += named_groups
    if more or named_groups:
        most = group
        for _, allowed, _ in (*more, *named_groups):
            most |= allowed
        entries.append((_MASK, most, _NO_ID))
    entries.append((_OTHER, other, _NO_ID))
    return _HEADER.pack(_VERSION) + b"".join(_ENTRY.pack(*entry) for entry in entries)


class Entry(NamedTuple):
    """One line of an ACL."""

    tag: int
    #: 4 read, 2 write, 1 search.
    allowed: int
    #: Of a user or a group that is named.
    number: int = _NO_ID


def entries_of(raw: bytes) -> list[Entry]:
    """What an ACL says. Raises `ValueError` if it is none that is known here."""
    if len(raw) < _HEADER.size or _HEADER.unpack_from(raw)[0] != _VERSION or (len(raw) - _HEADER.size) % _ENTRY.size:
        raise ValueError("not an ACL")
    return [Entry(*one) for one in _ENTRY.iter_unpack(raw[_HEADER.size :])]


def entries_of_mode(mode: int) -> list[Entry]:
    """What the bits of a file's mode say, where it has no ACL."""
    return [Entry(_OWNER, mode >> 6 & 7), Entry(_OWN_GROUP, mode >> 3 & 7), Entry(_OTHER, mode & 7)]


def packed(entries: Iterable[Entry]) -> bytes:
    """As the kernel takes them."""
    return _HEADER.pack(_VERSION) + b"".join(_ENTRY.pack(*entry) for entry in sorted(entries))


def letting(entries: Sequence[Entry], users: Iterable[tuple[int, int]]) -> list[Entry]:
    """The same, and these users with these permissions; nobody else gets more by it than their own line says."""
    let = dict(users)
    mask = next((one.allowed for one in entries if one.tag == _MASK), 7)
    kept = []
    for one in entries:
        if one.tag == _MASK or (one.tag == _USER and one.number in let):
            continue
        # What the mask has kept from somebody, a wider one must not give them.
        kept.append(one._replace(allowed=one.allowed & mask) if one.tag in (_USER, _OWN_GROUP, _GROUP) else one)
    kept += [Entry(_USER, allowed, uid) for uid, allowed in let.items()]
    most = 0
    for one in kept:
        most |= one.allowed if one.tag in (_USER, _OWN_GROUP, _GROUP) else 0
    return sorted([*kept, Entry(_MASK, most)])


def without(entries: Sequence[Entry], uid: int) -> list[Entry]:
    """The same without the line of that user. The mask goes with the last that is named; what it kept back stays so."""
    kept = [one for one in entries if not (one.tag == _USER and one.number == uid)]
    if any(one.tag in (_USER, _GROUP) for one in kept):
        return kept
    mask = next((one.allowed for one in kept if one.tag == _MASK), 7)
    rest = [one for one in kept if one.tag != _MASK]
    return [one._replace(allowed=one.allowed & mask) if one.tag == _OWN_GROUP else one for one in rest]


def users_in(entries: Iterable[Entry]) -> set[int]:
    """The users that are named, by their numbers."""
    return {one.number for one in entries if one.tag == _USER}


def allowed_to(entries: Sequence[Entry], owner: tuple[int, int], uid: int, groups: Collection[int]) -> int:
    """What a user in these groups may do with a file of that owner and group, as the kernel decides it."""
    if uid == owner[0]:
        return next(one.allowed for one in entries if one.tag == _OWNER)
    mask = next((one.allowed for one in entries if one.tag == _MASK), 7)
    named = [one.allowed for one in entries if one.tag == _USER and one.number == uid]
    if named:
        return named[0] & mask
    of_groups = [
        one.allowed
        for one in entries
        if (one.tag == _OWN_GROUP and owner[1] in groups) or (one.tag == _GROUP and one.number in groups)
    ]
    if of_groups:
        most = 0
        for allowed in of_groups:
            most |= allowed
        return most & mask
    return next(one.allowed for one in entries if one.tag == _OTHER)
