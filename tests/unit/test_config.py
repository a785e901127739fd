"""`config.toml` as a whole: what nobody reads is not passed over."""

from collections.abc import Callable
from pathlib import Path

import pytest

from corral import config
from corral.domain.errors import BadSpecError
from corral.places import Places


def written(directory: Path, text: str) -> Places:
    (directory / "config.toml").write_text(text)
    (directory / "config.toml").chmod(0o600)
    return Places(str(directory), str(directory))


@pytest.mark.parametrize(
    "read", [config.audit_terms, config.listen_settings, config.policy_settings, config.identity_terms]
)
def test_a_table_that_is_misspelt_is_refused_with_what_was_meant(
    tmp_path: Path, read: Callable[[Places], object]
) -> None:
    with pytest.raises(BadSpecError, match="lsiten") as refused:
        read(written(tmp_path, '[audit]\n\n[lsiten]\naddress = "127.0.0.1:1"\n'))
    assert "listen" in refused.value.remedy
    assert ":3" in refused.value.message


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[recording]\nkeeep = 1\n", "keeep"),
        ("[identity]\ntrust = 1\n", "trust"),
        ("[audit]\nenabled = 1\n", "enabled"),
        ("[policy]\nurl = 1\n", "url"),
        ("[listen]\naddress = 7\n", "address"),
        ("[audit\n", "config.toml"),
    ],
)
def test_what_would_keep_a_daemon_from_starting_is_found_before_it_starts(
    tmp_path: Path, text: str, named: str
) -> None:
    problem = config.problem_of(written(tmp_path, text))
    assert problem is not None
    assert named in problem.message + problem.remedy
    assert config.problem_of(written(tmp_path, "[audit]\nenabled = true\n")) is None


def test_the_tables_that_there_are_may_all_be_there(tmp_path: Path) -> None:
    config.audit_terms(written(tmp_path, "[audit]\n[identity]\n[policy]\n[recording]\n[listen]\n"))
