"""What whoever runs an instance says of recordings, and what teams can do about it."""

import pytest

from corral.domain.errors import BadSpecError
from corral.domain.recording import Recording, RecordingTerms, default_terms, recording_differences
from corral.domain.recording_terms import read_terms

OWN = Recording(on=False, keep=60.0, said=True)
FILE = "/etc/config.toml"


@pytest.mark.parametrize("shared", [True, False])
def test_a_shared_server_records_where_nobody_says_anything_and_a_single_person_does_not(shared: bool) -> None:
    for terms in (default_terms(shared=shared), read_terms(FILE, "[audit]\nenabled = true\n", shared=shared)):
        assert terms.of(Recording()).on is shared
        assert terms.of(OWN) is OWN
        assert not terms.overrules(OWN)


def test_a_host_says_what_holds_for_teams_that_say_nothing() -> None:
    terms = read_terms(FILE, '[recording]\nkeep = "7d"\nmax_size = "64M"\n', shared=True)
    assert terms == RecordingTerms(default=Recording(on=True, keep=7 * 86400.0, max_size=64 << 20))
    assert not read_terms(FILE, "[recording]\non = false\n", shared=True).of(Recording()).on


def test_what_a_host_requires_holds_for_all_and_who_said_otherwise_is_told() -> None:
    terms = read_terms(FILE, '[recording]\nkeep = "7d"\nrequired = true\n', shared=True)
    assert terms.of(OWN) == terms.of(Recording()) == terms.default
    assert terms.overrules(OWN)
    assert not terms.overrules(Recording())
    assert not terms.overrules(Recording(on=True, keep=7 * 86400.0, said=True))


@pytest.mark.parametrize(
    "text", ["recording = 3", "[recording]\nkeep = 3.5", "[recording]\nrequired = 1", "[recording]\nx = 1"]
)
def test_what_cannot_be_is_told(text: str) -> None:
    with pytest.raises(BadSpecError):
        read_terms(FILE, text + "\n", shared=True)


def test_a_table_that_says_no_is_another_thing_than_no_table() -> None:
    assert recording_differences(Recording(), Recording(said=True)) == ("recording.on",)
    assert recording_differences(OWN, OWN) == ()
