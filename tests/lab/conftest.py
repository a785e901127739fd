"""What tests of the lab stand on. They run as root, inside a booted machine: ./script/lab test.

Elsewhere they are not collected: they would make users log in and stop their units.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.lab.support.instances import LabInstance
from tests.lab.support.leaks import LabLeaks
from tests.lab.support.users import EVERYONE, User
from tests.support.files import remove_tree
from tests.support.leaks import LeakCheck

_INSIDE = os.environ.get("CORRAL_LAB_INSIDE") == "1"
_FULL = os.environ.get("CORRAL_LAB_FULL") == "1"

if not _INSIDE:
    collect_ignore_glob = ["test_*.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A file that is named is collected all the same; elsewhere it shall do no harm."""
    for item in items:
        if Path(__file__).parent not in item.path.parents:
            continue
        if not _INSIDE:
            item.add_marker(pytest.mark.skip(reason="needs a machine of the lab: ./script/lab test"))
        elif not _FULL and item.get_closest_marker("full_machine"):
            item.add_marker(pytest.mark.skip(reason="needs limits that are enforced: ./script/lab test --full"))


@pytest.fixture(scope="session", autouse=True)
def warm_managers() -> None:
    """Start what a user's manager would start at the first use and keep: not a leak of whichever test is the first."""
    for user in EVERYONE:
        if user.lingers:
            user.systemctl("start", "dbus.service")


@pytest.fixture(autouse=True)
def own_directory(warm_managers: None) -> Iterator[Path]:
    """The test's own directory. When the test is over the machine must be as it was before; what is left fails it.

    Takes the place of the fixture that ordinary tests have: here the person is a real user, and nobody else is around.
    """
    lab = LabLeaks()
    directory = tempfile.mkdtemp(prefix="l-", dir="/tmp")
    os.chmod(directory, 0o755)
    os.environ["OWN_TEST_DIRECTORY"] = directory
    check = LeakCheck(directory)
    try:
        yield Path(directory)
        leaks = check.leaks()
        check.end_processes()
    finally:
        del os.environ["OWN_TEST_DIRECTORY"]
        remove_tree(directory)
    leaks += lab.leaks()
    if leaks:
        lab.clear()
        pytest.fail("the test left behind:\n  " + "\n  ".join(dict.fromkeys(leaks)), pytrace=False)


@pytest.fixture
def ann() -> User:
    """A user with linger: her manager always runs."""
    return User("ann")


@pytest.fixture
def ben() -> User:
    """Another user with linger."""
    return User("ben")


@pytest.fixture
def cleo() -> User:
    """A user without linger: her manager comes with her first session and goes after the last."""
    return User("cleo")


@pytest.fixture
def dev() -> User:
    """A user with linger who may become root without a password."""
    return User("dev")


@pytest.fixture
def instance_of(own_directory: Path) -> Iterator[Callable[[User], LabInstance]]:
    """Makes Corral instances: `instance_of(ben)`. At the end their teams are taken down, their daemons are stopped."""
    with ExitStack() as stack:

        def make(user: User, name: str = "") -> LabInstance:
            own = LabInstance(user, str(own_directory / (name or user.name)))
            stack.callback(own.close)
            return own

        yield make


@pytest.fixture
def lab_instance(instance_of: Callable[[User], LabInstance], ann: User) -> LabInstance:
    """A Corral instance of ann."""
    return instance_of(ann)
