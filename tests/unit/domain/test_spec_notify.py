"""The `[notify]` table: what it says, what it cannot say, and that an address in it is told to nobody."""

import pytest

from corral.domain import spec
from corral.domain.errors import BadSpecError
from corral.domain.notices import NOTICE_KINDS
from corral.domain.notify import DEFAULT_NOTIFY, Notify, notify_as_json, notify_differences

TEAM = '[team]\nname = "shop"\n[agents.a]\ncommand = ["x"]\n'


def read(table: str) -> Notify:
    return spec.parse(f"{TEAM}[notify]\n{table}\n", "/x/corral.toml").notify


def test_without_the_table_there_is_a_bell_for_everything() -> None:
    assert spec.parse(TEAM, "/x/corral.toml").notify == DEFAULT_NOTIFY
    assert (DEFAULT_NOTIFY.bell, DEFAULT_NOTIFY.desktop, DEFAULT_NOTIFY.kinds) == (True, False, NOTICE_KINDS)


def test_what_it_says() -> None:
    found = read(
        'bell = false\ndesktop = true\nwebhook = "https://h/x"\ncommand = ["a", ""]\nfor = ["failed", "trust"]'
    )
    assert found == Notify(
        bell=False, desktop=True, webhook="https://h/x", command=("a", ""), kinds=("trust", "failed")
    )
    assert read("for = []").kinds == ()
    assert read('for = ["lifetime", "unattended", "failed"]').kinds == ("failed", "unattended", "lifetime")


@pytest.mark.parametrize(
    "table",
    [
        'webhook = "s3cr3t"',
        'webhook = "https://h/s3cr3t x"',
        'webhook = "https://h:99999/s3cr3t"',
        'webhook = "https://h/s3cr3t\\n"',
        'webhook = "https://[s3cr3t"',
        'command = ["", "x"]',
        "command = [1]",
        'command = ["a\\u0000"]',
        'for = ["nothing"]',
        "for = [1]",
        "every = 1",
    ],
)
def test_what_it_cannot_say(table: str) -> None:
    with pytest.raises(BadSpecError) as error:
        read(table)
    assert "notify" in error.value.message
    assert "s3cr3t" not in f"{error.value.message} {error.value.remedy} {error.value.details}"


def test_the_journal_gets_no_address() -> None:
    notify = read('webhook = "https://h/s3cr3t"')
    assert notify_as_json(notify)["webhook"] is True
    assert notify_differences(DEFAULT_NOTIFY, notify) == ("notify.webhook",)
