"""What a host's rules compare `input.verb` with, and that is no verb."""

import pytest

from corral.domain.policy_verbs import strange_verbs

KNOWN = {"send", "logs"}


@pytest.mark.parametrize(
    ("text", "strange"),
    [
        ('input.verb == "send"', []),
        ('input.verb == "attach"', []),
        ('input.verb == "host_setup"', []),
        ('input.verb == "sned"', ["1: sned is the verb of no request"]),
        ('"sned" == input.verb', ["1: sned is the verb of no request"]),
        ('input.verb != "sned"', ["1: sned is the verb of no request"]),
        ('input.verb == "join_session"', ["1: join_session is asked as attach"]),
        ('\ninput.verb in {"send",\n "lgos"}', ["3: lgos is the verb of no request"]),
        ('input.verb in ["send", "logs"]', []),
        ('# input.verb == "sned"\nx := "#" # input.verb == "sned"', []),
        ('x := "#"; input.verb == "sned"', ["1: sned is the verb of no request"]),
        ('input.verb == ""', ["1: the empty text is the verb of no request"]),
        ("input.verb == verb", []),
        ('input.who.user == "sned"', []),
    ],
)
def test_a_verb_that_no_request_has_is_found(text: str, strange: list[str]) -> None:
    assert list(strange_verbs("own.rego", text, KNOWN)) == [f"own.rego:{one}, so this never applies" for one in strange]
