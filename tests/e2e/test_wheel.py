"""The built wheel, installed as a user would: one command, and all the data it needs."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree."""
    where = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(where)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=120,
    )
    (built,) = where.glob("*.whl")
    return built


@pytest.mark.slow
def test_it_gives_the_one_command(wheel: Path, own_directory: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", str(own_directory / "v")], check=True, timeout=120)
    pip = [str(own_directory / "v" / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "-q"]
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True, timeout=120)
    commands = {
        path.name
        for path in (own_directory / "v" / "bin").iterdir()
        if not path.name.lower().startswith(("python", "pip", "activate"))
    }
    assert commands == {"corral"}
    corral = str(own_directory / "v" / "bin" / "corral")
    said = subprocess.run([corral, "version", "--json"], capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(said.stdout)["version"] in wheel.name


def test_it_holds_all_data_and_no_tests(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    source = {
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src" / "corral").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    packed = {name for name in names if ".dist-info/" not in name and ".data/scripts/" not in name}
    assert packed == source
    assert [os.path.basename(name) for name in names if ".data/" in name] == ["corral"]
    assert not any(os.path.basename(name).startswith("test_") for name in packed)
