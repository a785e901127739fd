"""Every row, through every face, contained and not."""

import pytest

from tests.conformance.exec.faces import Face
from tests.conformance.exec.rows import ROWS, Row


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.what)
def test_row(face: Face, row: Row) -> None:
    command = {"command": row.command} if row.command is not None else {"argv": row.argv}
    answer = face.exec(**command, **row.more)
    try:
        if row.output is not None:
            assert answer["output"] == row.output
        if row.shows is not None:
            assert row.shows in answer["output"]
        if row.running is not None:
            assert (answer["running"], answer["exit_code"], answer["signal"]) == (
                row.running,
                row.exit_code,
                row.signal,
            )
        assert (answer["timed_out"], answer["promoted"], answer["omitted_bytes"]) == (row.timed_out, row.promoted, 0)
        found = sorted(survivor["command"] for survivor in answer["survivors"])
        assert len(found) == len(row.survivors), found
        assert all(word in command for word, command in zip(row.survivors, found, strict=True)), found
    finally:
        # Whatever outlived the command is known by its id, and ends by it.
        ended = face.kill(answer["process_id"], grace=1)
    assert ended["left"] == []
    assert not ended["running"]
    (listed,) = (one for one in face.list() if one["process_id"] == answer["process_id"])
    assert listed["pids"] == []
    face.remove(answer["process_id"])
