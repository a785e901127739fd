"""What every test stands on: a directory and an environment of its own, and a leak check when it is over."""

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support import abandoned, repos
from tests.support.files import remove_tree
from tests.support.instance import Instance
from tests.support.leaks import LeakCheck
from tests.support.person import OwnTmux, Person

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Started in the background of a shell, which has it ignored, and so would everything that a test starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _cut_off(*_: object) -> None:
    """A time limit ends the run: as ctrl-c does, so that tests clean up after themselves."""
    raise KeyboardInterrupt("the run was told to end")


signal.signal(signal.SIGTERM, _cut_off)

# How long an example takes says something about the machine, and nothing about what is tested.
# The same examples each time, so that a failure is of what was changed. CORRAL_FUZZ_SECONDS looks for new ones.
settings.register_profile(
    "corral",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CORRAL_FUZZ_SECONDS" not in os.environ,
)
settings.load_profile("corral")


@pytest.fixture(scope="session")
def person() -> Iterator[Person]:
    """The person in whose account the tests run. What a run left that was killed is ended before."""
    for line in abandoned.end_abandoned():
        print(f"left by a test run that was killed, and ended now: {line}", file=sys.__stderr__)
    someone = Person()
    abandoned.begin(someone.home)
    yield someone
    someone.close()


@pytest.fixture(scope="session")
def own_tmux(person: Person) -> Iterator[OwnTmux]:
    """That person's own tmux server, which nobody may touch."""
    if not shutil.which("tmux"):
        pytest.fail("tmux is missing, and these tests are about it: ./script/test installs it", pytrace=False)
    server = OwnTmux(person)
    yield server
    changes = server.changes()
    server.close()
    if changes:
        pytest.fail("the person's own tmux server was touched:\n" + "\n".join(changes), pytrace=False)


@pytest.fixture(autouse=True)
def own_directory(person: Person, request: pytest.FixtureRequest) -> Iterator[Path]:
    """The test's own directory: short, private, named in the environment of everything that the test starts.

    When the test is over nothing of it may be left; what is left fails the test, is named, and is ended if it is
    proved to be the test's. Outside of tests/unit the person's own tmux server runs beside, and must not notice.
    """
    beside = None
    if "unit" not in request.path.relative_to(request.config.rootpath).parts:
        beside = request.getfixturevalue("own_tmux")
    directory = tempfile.mkdtemp(prefix="c-", dir="/tmp")
    abandoned.note(person.home, directory)
    environment = person.environment(dict(os.environ))
    environment |= {
        "OWN_TEST_DIRECTORY": directory,
        "CORRAL_HOME": os.path.join(directory, "h"),
        "CORRAL_RUNTIME_DIR": os.path.join(directory, "r"),
    }
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(environment)
    check = LeakCheck(directory)
    leaks: list[str] = []
    changes: list[str] = []
    try:
        yield Path(directory)
        leaks = check.leaks()
        changes = beside.changes() if beside else []
    finally:
        # Also if the look itself was cut off.
        check.end_processes()
        os.environ.clear()
        os.environ.update(before)
        remove_tree(directory)
    if leaks:
        pytest.fail("the test left behind:\n  " + "\n  ".join(leaks), pytrace=False)
    if changes:
        pytest.fail("the person's own tmux server was touched:\n  " + "\n  ".join(changes), pytrace=False)


_FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note of each test whether it failed, for those who clean up after it."""
    report = yield
    if report.failed:
        item.stash[_FAILED] = True
    return report


@pytest.fixture
def instance(own_directory: Path, request: pytest.FixtureRequest) -> Iterator[Instance]:
    """A private Corral instance. At the end every team of it is taken down and its daemon is stopped.

    Of a test that failed, the logs and the journal are in the report.
    """
    own = Instance(str(own_directory))
    try:
        yield own
    finally:
        if request.node.stash.get(_FAILED, False):
            print(own.last_words())
        own.close()


@pytest.fixture
def repo(own_directory: Path) -> Callable[..., Path]:
    """Makes git repositories: `repo()`, `repo("dirty")`, `repo("bare", name="other")`; see `repos.make`."""

    def make(kind: repos.Kind = "normal", name: str = "repo") -> Path:
        return repos.make(own_directory / name, kind)

    return make
