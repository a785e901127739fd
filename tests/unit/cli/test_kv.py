"""`corral kv txn`: what is wrong with a transaction is named as it was written."""

import json

import pytest

from tests.unit.cli.conftest import Corral
from tests.unit.client.fake_daemon import FakeDaemon, document


@pytest.mark.parametrize(
    ("transaction", "named"),
    [
        ({"putz": {}}, "'putz'"),
        ({"puts": []}, "puts"),
        ({"puts": {"a": "x", "b": 1}}, "puts of 'b'"),
        ({"drops": ["a", None]}, "drops, number 2"),
        ({"if_revisions": {"a": "1"}}, "if_revisions of 'a'"),
        ({"if_revisions": {"a": True}}, "if_revisions of 'a'"),
    ],
)
def test_a_field_that_does_not_fit_is_named(corral: Corral, transaction: object, named: str) -> None:
    error = corral("kv", "txn", "--team", "shop", "--json", stdin=json.dumps(transaction).encode()).error
    assert (error["code"], named in error["message"]) == ("wrong_use", True), error
    assert "corral help kv txn" in error["remedy"]


def test_a_whole_one_goes_out_as_it_is(corral: Corral, daemon: FakeDaemon) -> None:
    daemon.answer("POST", "/v1/kv", document({"revision": 7, "changed": ["a"]}))
    whole = {"if_revisions": {"a": 0}, "puts": {"a": "x", "b": {"base64": "eA=="}}, "drops": ["c"]}
    assert corral("kv", "txn", "--team", "shop", stdin=json.dumps(whole).encode()).out == "revision 7\n"
    assert json.loads(daemon.last.body) == whole
