"""`[policy]` of the settings: nothing is guessed, and no decision leaves the host in the clear."""

import pytest

from corral.domain.errors import BadPolicyError
from corral.domain.policy_settings import PolicySettings, settings_of


@pytest.mark.parametrize(
    ("table", "settings"),
    [
        ({}, PolicySettings()),
        ({"url": "http://127.0.0.1:8181/"}, PolicySettings(url="http://127.0.0.1:8181")),
        ({"url": "http://[::1]:8181"}, PolicySettings(url="http://[::1]:8181")),
        ({"url": "http://localhost:8181/opa"}, PolicySettings(url="http://localhost:8181/opa")),
        ({"url": "https://opa.example.org", "seconds": 2}, PolicySettings(url="https://opa.example.org", seconds=2.0)),
    ],
)
def test_what_it_takes(table: dict[str, object], settings: PolicySettings) -> None:
    assert settings_of({"policy": table, "other": {"x": 1}}, "config.toml") == settings


def test_without_it_the_daemon_decides() -> None:
    assert settings_of({}, "config.toml").url == ""


@pytest.mark.parametrize(
    "table",
    [
        "http://127.0.0.1",
        {"uri": "http://127.0.0.1"},
        {"url": 1},
        {"url": "opa.example.org"},
        {"url": "ftp://127.0.0.1"},
        {"url": "http://127.0.0.1:99999"},
        {"url": "http://127.0.0.1/\r\nX: y"},
        {"url": "http://127.0.0.1/?a=b"},
        {"url": "http://opa.example.org"},
        {"url": "http://10.0.0.1:8181"},
        {"seconds": 0},
        {"seconds": 31},
        {"seconds": "1"},
        {"seconds": True},
        {"seconds": float("nan")},
    ],
)
def test_what_cannot_be_is_refused_with_the_file(table: object) -> None:
    with pytest.raises(BadPolicyError) as raised:
        settings_of({"policy": table}, "config.toml")
    assert raised.value.message.startswith("config.toml: ")
    assert raised.value.remedy
