"""What `[listen]` may say, and what may be bound."""

import pytest

from corral.domain.errors import BadSpecError, RefusedError
from corral.domain.listen_settings import (
    ListenSettings,
    is_loopback,
    must_be_bindable,
    read_listen,
    shown_address,
    split_address,
)

TLS = 'tls_cert = "/c.pem"\ntls_key = "/k.pem"\n'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("127.0.0.1:7700", ("127.0.0.1", 7700)),
        ("localhost:0", ("localhost", 0)),
        ("[::1]:7700", ("::1", 7700)),
        ("build.example.org:65535", ("build.example.org", 65535)),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, found: tuple[str, int]) -> None:
    assert split_address(text) == found


@pytest.mark.parametrize(
    "text",
    ["", ":", ":7700", "7700", "x", "x:", "::1:7700", "[x]:1", "[::1]", "x:65536", "x:-1", "x:1 ", "a b:1", "x/y:1",
     "x:１", "[]:1", "u@x:1", "fe80::1%eth0:1", "x" * 300 + ":1"],
)  # fmt: skip
def test_anything_else_is_none(text: str) -> None:
    assert split_address(text) is None


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"])
def test_what_only_this_host_can_reach(address: str) -> None:
    assert is_loopback(address)


@pytest.mark.parametrize(
    "address",
    ["0.0.0.0", "::", "10.0.0.1", "192.0.2.1", "fe80::1%eth0", "::ffff:10.0.0.1", "::ffff:0.0.0.0", "localhost", "",
     "128.0.0.1", "0:0:0:0:0:0:0:2"],
)  # fmt: skip
def test_what_others_can_reach_or_nobody_knows(address: str) -> None:
    assert not is_loopback(address)


def test_settings_are_read_strictly() -> None:
    assert read_listen("c", "") is None
    assert read_listen("c", "[audit]\nenabled = true\n") is None
    settings = read_listen("c", f'[listen]\naddress = "[::1]:7700"\n{TLS}')
    assert settings == ListenSettings(host="::1", port=7700, tls_cert="/c.pem", tls_key="/k.pem")
    assert settings.tls


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("listen = 1", "a table"),
        ("[listen]", "this is missing"),
        ("[listen]\naddress = 7700", "a string"),
        ('[listen]\naddress = "7700"', "no HOST:PORT"),
        ('[listen]\naddress = "x:1"\ntls_cert = "/c.pem"', "this is missing"),
        ('[listen]\naddress = "x:1"\ntls_key = "/k.pem"', "this is missing"),
        ('[listen]\naddress = "x:1"\ntls_cert = "c.pem"\ntls_key = "/k.pem"', "an absolute path"),
        ('[listen]\naddress = "x:1"\ntoken = "x"', "no such key"),
    ],
)
def test_what_cannot_be_is_told_of(text: str, says: str) -> None:
    with pytest.raises(BadSpecError) as told:
        read_listen("c", text)
    assert says in str(told.value.as_json())


PLAIN = ListenSettings(host="h", port=7700)
SECURE = ListenSettings(host="h", port=7700, tls_cert="/c.pem", tls_key="/k.pem")


@pytest.mark.parametrize("settings", [PLAIN, SECURE])
@pytest.mark.parametrize("tokens", [0, 1])
def test_loopback_may_always_be_bound(settings: ListenSettings, tokens: int) -> None:
    must_be_bindable(settings, ["127.0.0.1", "::1"], tokens)


@pytest.mark.parametrize("addresses", [["0.0.0.0"], ["::"], ["10.0.0.1"], ["127.0.0.1", "10.0.0.1"], ["?"]])
def test_what_others_can_reach_takes_tls_and_a_token(addresses: list[str]) -> None:
    must_be_bindable(SECURE, addresses, 1)
    with pytest.raises(RefusedError, match="without TLS") as plain:
        must_be_bindable(PLAIN, addresses, 1)
    with pytest.raises(RefusedError, match="there is no token") as closed:
        must_be_bindable(SECURE, addresses, 0)
    for told in (plain, closed):
        assert "h:7700" in told.value.message
        assert told.value.remedy


def test_addresses_are_shown_as_they_are_written() -> None:
    assert (shown_address("::1", 1), shown_address("x", 2)) == ("[::1]:1", "x:2")
