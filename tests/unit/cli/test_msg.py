"""Messages as a person sees them: what somebody else wrote must not act on the reader's terminal."""

from corral.cli.msg_text import inbox_table, message_text, sent_table
from corral.client.answers import Record

EVIL = "\x1b[2Jx\a"
RECIPIENT = {"to": "shop/b", "state": "acked", "note": f"done {EVIL}\nand more"}
MESSAGE: Record = {
    "message": "m41",
    "from": "shop/a",
    "to": ["shop/b"],
    "subject": "",
    "reply_to": "m7",
    "time": "2026-11-15T10:48:54.328Z",
    "state": "stored",
    "preview": f"look {EVIL}",
    "text": f"look {EVIL}\nagain\n",
    "recipients": [RECIPIENT],
}


def test_what_others_wrote_is_harmless_everywhere() -> None:
    texts = [
        *inbox_table([MESSAGE]),
        *sent_table([MESSAGE]),
        message_text(MESSAGE, with_states=True),
        message_text({**MESSAGE, "subject": EVIL}, with_states=False),
    ]
    assert not any("\x1b" in text or "\a" in text for text in texts)
    assert all("look \ufffd" in text or "done \ufffd" in text or "ID" in text for text in texts)


def test_a_table_has_one_line_a_message() -> None:
    _, row = inbox_table([{**MESSAGE, "subject": "a subject"}])
    assert row.split() == ["m41", "shop/a", "stored", "a", "subject"]
    _, row = sent_table([MESSAGE])
    assert row.split()[:4] == ["m41", "shop/b", "acked", "done"]
    assert list(inbox_table([])) == list(sent_table([])) == []


def test_a_whole_message_tells_what_it_answers_and_how_far_it_got() -> None:
    lines = message_text(MESSAGE, with_states=True).splitlines()
    assert lines[0].startswith("m41 from shop/a, 2026")
    assert lines[1] == "answers m7"
    assert lines[2].startswith("shop/b: acked: done")
    assert lines[-1] == "again"
    assert "acked" not in message_text(MESSAGE, with_states=False)
