"""Names in /proc and directories below a mount: what fits, and what does not."""

import pytest

from corral.adapters.cgroup.hierarchy import Hierarchy, has_version_1, mounts

HYBRID = r"""31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:7 - cgroup2 cgroup2 rw
"""
PURE = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 master:2 - cgroup2 cgroup2 rw,nsdelegate\n"
CONTAINER = r"""30 23 0:26 /docker/4f2a /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw
31 23 0:26 / /mnt/all\040of\134it rw - cgroup2 cgroup2 rw
"""


def test_mounts_are_found_beside_those_of_version_1() -> None:
    assert mounts(HYBRID) == [Hierarchy("/sys/fs/cgroup/unified", "/")]
    assert has_version_1(HYBRID)
    assert mounts(PURE) == [Hierarchy("/sys/fs/cgroup", "/")]
    assert not has_version_1(PURE)


def test_a_part_of_the_tree_and_odd_characters() -> None:
    assert mounts(CONTAINER) == [
        Hierarchy("/sys/fs/cgroup", "/docker/4f2a"),
        Hierarchy("/mnt/all of\\it", "/"),
    ]


def test_no_mount_is_no_hierarchy() -> None:
    table = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n1 2 0:1 / /cgroup2 rw - ext4 cgroup2 rw\n"
    assert mounts(table) == []


@pytest.mark.parametrize(
    ("root", "name", "path"),
    [
        ("/", "/", "/m"),
        ("/", "/a/b", "/m/a/b"),
        ("/docker/4f2a", "/docker/4f2a", "/m"),
        ("/docker/4f2a", "/docker/4f2a/x", "/m/x"),
        ("/docker/4f2a", "/docker/4f2ab", None),
        ("/docker/4f2a", "/", None),
        ("/", "/../other", None),
        ("/..", "/../other", "/m/other"),
        ("/..", "/", None),
        ("/../..", "/../../a/../b", None),
    ],
)
def test_a_name_is_a_directory_only_where_the_mount_shows_it(root: str, name: str, path: str | None) -> None:
    group = Hierarchy("/m", root).cgroup(name)
    assert (group.path if group else None) == path
    assert group is None or group.name == name


def test_children_have_both() -> None:
    top = Hierarchy("/m", "/").cgroup("/")
    assert top is not None
    child = top.child("a").child("b")
    assert (child.name, child.path) == ("/a/b", "/m/a/b")
