"""Output that is followed: records of the daemon as they come, and the bytes in them."""

from binascii import a2b_base64

from corral.cli.output import plain, remark
from corral.client.answers import Record, raise_refusal, record_of
from corral.client.exchange import Exchange
from corral.domain.errors import CorralError, from_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: As `timeout` of coreutils: the command has not ended, or nothing has come, in the time that was given.
TIMED_OUT = 124
#: Seconds of one `poll`: the kernel counts milliseconds, and not many more than three weeks have.
LONGEST_POLL = 86400.0


class TimeIsUpError(Exception):
    """Nothing ended in the time that was given."""


def pages(answer: Exchange, wait: "Callable[[Exchange], bool]") -> "Iterator[Record]":
    """The records of a stream as they come, until its end; `TimeIsUpError` if `wait` says so before."""
    try:
        while not answer.over:
            if not wait(answer):
                raise TimeIsUpError
            if answer.status >= 400:
                continue  # to its end, which says why
            for line in answer.lines():
                record = record_of(line)
                error = record.get("error")
                if isinstance(error, dict):
                    raise from_json(error)
                yield record
        raise_refusal(answer.response())
    finally:
        answer.close()


def blocking(answer: Exchange) -> bool:
    """For `pages`: wait for as long as it takes."""
    answer.receive()
    return True


def content(record: Record) -> bytes:
    """The output in a record, as bytes."""
    output = str(record.get("output", ""))
    return a2b_base64(output) if record.get("encoding") == "base64" else output.encode("utf-8", "surrogatepass")


def number(record: Record, name: str) -> int:
    """A whole number of a record; 0 if there is none."""
    value = record.get(name)
    return value if isinstance(value, int) else 0


def remark_on_trouble(record: Record) -> None:
    """Tell that the output of a process is not what it should be, if that is so."""
    if record.get("trouble"):
        remark(f"corral: {record.get('process_id')}: {plain(str(record.get('trouble')))}")


def code_of(record: Record) -> int:
    """The exit code of a command that has ended, as a shell tells it."""
    code = record.get("exit_code")
    if isinstance(code, int):
        return code & 0xFF
    process = record.get("process_id")
    raise CorralError(
        f"{process} has ended, and nobody saw how", f"corral proc output {process} shows what it wrote before"
    )
