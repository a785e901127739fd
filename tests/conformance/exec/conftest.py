"""One team for all cases of a module: `shop` with the agents a and b, as contained as the host can, or not at all."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.exec.faces import CommandLine, Face, Http, mcp_face
from tests.support.instance import Instance
from tests.support.person import Person

_TEAM = """\
[team]
name = "shop"
[containment]
systemd = "{systemd}"
[agents.a]
command = ["sleep", "86400"]
[agents.b]
command = ["sleep", "86400"]
"""


#: Through the API and contained: that is most of it, and quick. Every other combination counts as slow.
_SLOW = pytest.mark.slow


@pytest.fixture(scope="module", params=["contained", pytest.param("uncontained", marks=_SLOW)])
def shop(request: pytest.FixtureRequest, person: Person) -> Iterator[Instance]:
    """The team, up."""
    directory = tempfile.mkdtemp(prefix="cx-", dir="/tmp")
    instance = Instance(directory)
    instance.env = {"HOME": person.home}
    Path(directory, "below").mkdir()
    instance.spec(_TEAM.format(systemd="auto" if request.param == "contained" else "off"))
    try:
        instance.run("up")
        yield instance
        receipt = instance.json("down", "--grace", "1s")
        assert receipt["clean"], receipt
    finally:
        instance.close()
        shutil.rmtree(directory)


@pytest.fixture(scope="module", params=["http", pytest.param("cli", marks=_SLOW), pytest.param("mcp", marks=_SLOW)])
def face(request: pytest.FixtureRequest, shop: Instance) -> Iterator[Face]:
    """One way to ask for agent a."""
    if request.param == "mcp":
        with mcp_face(shop) as one:
            yield one
    else:
        yield CommandLine(shop) if request.param == "cli" else Http(shop)
