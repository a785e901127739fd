"""What a machine gets of the repository."""

import io
import os
import subprocess
import tarfile

from tests.lab.host.tree import REPOSITORY


def repository(**more: str) -> bytes:
    """The repository as it is now, uncommitted changes included, as a tar archive that everybody can read.

    `more` are further files by name, with their content.
    """
    listing = ["git", "-C", str(REPOSITORY), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, capture_output=True, check=True).stdout.decode().split("\0")
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name in sorted(set(filter(None, names))):
            if os.path.lexists(REPOSITORY / name):  # deleted and not yet committed
                tar.add(REPOSITORY / name, arcname=name, filter=_readable)
        for name, content in more.items():
            member = tarfile.TarInfo(name)
            member.size = len(content.encode())
            tar.addfile(member, io.BytesIO(content.encode()))
    return archive.getvalue()


def _readable(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
    return member
