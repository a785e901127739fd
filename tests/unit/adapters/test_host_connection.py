"""What a keeper says to the host of a team's processes."""

import json

from corral.adapters.subprocess.connection import _written


def test_a_message_is_a_line_and_names_of_files_need_be_no_unicode() -> None:
    for word in ("plain", "größer 大きい", "\udcff is no UTF-8", 'with "quotes"\n and a line'):
        line = _written({"n": 1, "do": "start", "argv": [word], "environment": {"A": word}, "limit": None})
        assert (line.count(b"\n"), line[-1:]) == (1, b"\n")
        assert json.loads(line) == {"n": 1, "do": "start", "argv": [word], "environment": {"A": word}, "limit": None}
