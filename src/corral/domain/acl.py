"""POSIX ACLs as the kernel takes them in an extended attribute. Pure."""

from __future__ import annotations

import struct
from collections.abc import Iterable

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
