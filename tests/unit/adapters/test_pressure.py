"""How much of the time a host waits for memory."""

from pathlib import Path

from corral.adapters.cgroup.pressure import of_memory


def test_the_share_of_the_last_ten_seconds_is_read(tmp_path: Path) -> None:
    file = tmp_path / "memory"
    file.write_text("some avg10=12.50 avg60=3.00 avg300=1.00 total=5\nfull avg10=1.00 avg60=0.00 avg300=0.00 total=1\n")
    assert of_memory(str(file)) == 12.5


def test_a_kernel_that_does_not_tell_says_nothing(tmp_path: Path) -> None:
    assert of_memory(str(tmp_path / "none")) is None
