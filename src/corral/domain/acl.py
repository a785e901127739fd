"""POSIX ACLs as the kernel takes them in an extended attribute. Pure."""

from __future__ import annotations

import struct

ACCESS = "system.posix_acl_access"
#: Of a directory, for what is made in it.
DEFAULT = "system.posix_acl_default"

#: A version, then entries of tag, permissions and id, in the order of the tags.
_HEADER, _ENTRY = struct.Struct("<I"), struct.Struct("<HHI")
_VERSION, _NO_ID = 2, 0xFFFFFFFF
_USER, _OWN_GROUP, _GROUP, _MASK, _OTHER = 0x01, 0x04, 0x08, 0x10, 0x20


def acl(user: int, group: int, other: int = 0, groups: tuple[tuple[int, int], ...] = ()) -> bytes:
    """Permissions (4 read, 2 write, 1 search) of the owner, the group and others, and of more groups by number."""
    entries = [(_USER, user, _NO_ID), (_OWN_GROUP, group, _NO_ID)]
    entries += [(_GROUP, allowed, gid) for gid, allowed in sorted(groups)]
    if groups:
        most = group
        for _, allowed in groups:
            most |= allowed
        entries.append((_MASK, most, _NO_ID))
    entries.append((_OTHER, other, _NO_ID))
    return _HEADER.pack(_VERSION) + b"".join(_ENTRY.pack(*entry) for entry in entries)
