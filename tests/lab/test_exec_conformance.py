"""What holds of commands holds under systemd as well: each in a cgroup of its own below its agent's scope."""

from tests.lab.support.users import User

_SECONDS = 900.0


def test_every_case_passes_through_every_face_in_the_account_of_a_real_user(dev: User) -> None:
    done = dev.run(
        "/opt/corral-venv/bin/python", "-m", "pytest", "-p", "no:cacheprovider", "-q",
        "tests/conformance/exec/test_rows.py", "tests/conformance/exec/test_stories.py", "-k", "not uncontained",
        cwd="/corral", check=False, timeout=_SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout[-20000:]}\n{done.stderr[-2000:]}"
