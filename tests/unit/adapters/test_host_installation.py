"""What counts as run when this Corral is run: all of its modules, its Python, and every way that leads there."""

import os
import sys
from pathlib import Path

import pytest

import corral
from corral.adapters.host import installation, tools


@pytest.fixture(autouse=True)
def no_other_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole repository is on the path of a test, with everybody's caches."""
    assert corral.__file__ is not None
    beside = (os.path.dirname(os.path.dirname(corral.__file__)), os.path.dirname(os.__file__))
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path in beside])
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)


def test_all_that_is_loaded_is_looked_at_and_all_that_leads_to_it() -> None:
    paths = {entry.path for entry in installation.entries()}
    for module in (corral.__file__, os.__file__):
        assert module is not None
        assert os.path.realpath(module) in {os.path.realpath(path) for path in paths}
    assert {"/", sys.executable, os.path.realpath(sys.executable), os.path.dirname(sys.executable)} <= paths


def test_a_link_is_looked_at_with_what_it_leads_to(own_directory: Path) -> None:
    real = own_directory / "real" / "deep"
    real.mkdir(parents=True)
    (own_directory / "link").symlink_to("real")
    paths = {entry.path for entry in installation.ways(str(own_directory / "link" / "deep" / "new"))}
    assert {str(own_directory / "link"), str(own_directory / "real"), str(real)} <= paths
    assert str(real / "new") not in paths


def test_a_link_into_itself_ends(own_directory: Path) -> None:
    (own_directory / "loop").symlink_to("loop")
    assert str(own_directory / "loop") in {entry.path for entry in installation.ways(str(own_directory / "loop"))}


def test_tools_are_found_in_the_system_and_not_by_path(own_directory: Path) -> None:
    trap = own_directory / "sh"
    trap.write_text("#!/bin/false\n")
    trap.chmod(0o755)
    os.environ["PATH"] = str(own_directory)
    done = tools.ask("sh", "-c", "echo $PATH")
    assert done.stdout.strip() == "/usr/sbin:/usr/bin:/sbin:/bin"


def test_what_cannot_be_loaded_is_told() -> None:
    assert installation.cannot_load("json") == ""
    assert installation.cannot_load("corral_has_no_such_module").startswith("ModuleNotFoundError: No module named")
    assert installation.cannot_load("os; os._exit(7)") == "it ended with 7"
