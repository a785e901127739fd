"""The `[processes]` table of a `corral.toml`: what it means, and what is said about one that is wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.errors import BadSpecError
from corral.domain.limits_text import shown_size
from corral.domain.process_limits import DEFAULT_PROCESS_LIMITS, PROCESS_LIMIT_NAMES, ProcessLimits
from corral.domain.spec import parse
from corral.domain.spec_processes import ALIASES

FILE = "/home/ann/shop/corral.toml"
K, M, G, T = 1 << 10, 1 << 20, 1 << 30, 1 << 40


def text(lines: str) -> str:
    """A file whose `[processes]` table has these lines, from line 4 on."""
    return f'[team]\nname = "shop"\n[processes]\n{lines}\n[agents.builder]\ncommand = ["x"]\n'


def limits_of(lines: str) -> ProcessLimits:
    return parse(text(lines), FILE).processes


def told(lines: str) -> tuple[object, object, str, str]:
    """Line, key, message and remedy of the one problem of the table."""
    with pytest.raises(BadSpecError) as caught:
        parse(text(lines), FILE)
    problems = caught.value.details["problems"]
    assert isinstance(problems, list)
    (problem,) = problems
    assert problem["file"] == FILE
    return problem["line"], problem["key"], str(problem["message"]), str(problem["remedy"])


def test_without_the_table_the_defaults_hold() -> None:
    assert parse(text("").replace("[processes]\n", ""), FILE).processes == DEFAULT_PROCESS_LIMITS
    assert limits_of("") == DEFAULT_PROCESS_LIMITS


def test_to_write_the_defaults_is_the_same_as_not_to() -> None:
    written = 'running = 2048\noutput = "8M"\nrecords = 200\ndisk = "512M"'
    assert limits_of(written) == DEFAULT_PROCESS_LIMITS


@pytest.mark.parametrize(
    ("lines", "limits"),
    [
        ("running = 1", ProcessLimits(running=1)),
        ("running = 100000", ProcessLimits(running=100_000)),
        ("records = 1", ProcessLimits(records=1)),
        ("records = 100_000", ProcessLimits(records=100_000)),
        ('output = "64K"', ProcessLimits(output=64 * K)),
        ("output = 65536", ProcessLimits(output=64 * K)),
        ('output = "1.5MiB"', ProcessLimits(output=1536 * K)),
        ('output = "4G"\ndisk = "4G"', ProcessLimits(output=4 * G, disk=4 * G)),
        ('disk = "8M"', ProcessLimits(disk=8 * M)),
        ('disk = "1T"', ProcessLimits(disk=T)),
        ('output = "1M"\ndisk = "1M"', ProcessLimits(output=M, disk=M)),
        (
            'running = 2\noutput = "64K"\nrecords = 3\ndisk = "2M"',
            ProcessLimits(running=2, output=64 * K, records=3, disk=2 * M),
        ),
    ],
)
def test_values(lines: str, limits: ProcessLimits) -> None:
    assert limits_of(lines) == limits


@given(
    running=st.integers(1, 100_000),
    records=st.integers(1, 100_000),
    output=st.integers(64 * K, 4 * G),
    more=st.integers(0, T - 4 * G),
)
def test_whatever_is_within_bounds_is_taken_as_it_is_written(
    running: int, records: int, output: int, more: int
) -> None:
    disk = max(output + more, M)
    sizes = [size if size.isdecimal() else f'"{size}"' for size in map(shown_size, (output, disk))]
    lines = f"running = {running}\nrecords = {records}\noutput = {sizes[0]}\ndisk = {sizes[1]}"
    assert limits_of(lines) == ProcessLimits(running=running, records=records, output=output, disk=disk)


@pytest.mark.parametrize(
    ("line", "message", "remedy"),
    [
        ("running = 0", "out of range", "a number from 1 to 100000, such as running = 2048"),
        ("running = -5", "out of range", "from 1 to 100000"),
        ("running = 100001", "out of range", "from 1 to 100000"),
        ('running = "2048"', "an integer, not a string", "such as running = 2048"),
        ("running = 2.5", "an integer, not a float", "such as running = 2048"),
        ("running = true", "an integer, not a boolean", "such as running = 2048"),
        ("running = [1]", "an integer, not an array", "such as running = 2048"),
        ("running = -1", "cannot be without limit", "from 1 to 100000"),
        ('running = "infinity"', "cannot be without limit", "from 1 to 100000"),
        ("records = 0", "out of range", "from 1 to 100000, such as records = 200"),
        ("records = -200", "out of range", "from 1 to 100000"),
        ("records = 1000000", "out of range", "from 1 to 100000"),
        ('records = "many"', "an integer, not a string", "such as records = 200"),
        ("records = inf", "cannot be without limit", "from 1 to 100000"),
        ("output = 0", "out of range", 'a size from "64K" to "4G", such as output = "8M"'),
        ("output = -8", "out of range", 'from "64K" to "4G"'),
        ("output = 8", "out of range", 'did you mean "8M"? A size from "64K" to "4G"'),
        ("output = 65535", "out of range", 'from "64K" to "4G"'),
        ('output = "63K"', "out of range", 'from "64K" to "4G"'),
        ('output = "5G"', "out of range", 'from "64K" to "4G"'),
        ('output = "8MB"', "is no size", 'did you mean output = "8M"?'),
        ('output = "8"', "is no size", 'lacks its unit: did you mean output = "8M"?'),
        ('output = ""', "is no size", 'such as output = "8M"'),
        ("output = 8.5", "a string or a number of bytes, not a float", 'such as output = "8M"'),
        ("output = false", "a string or a number of bytes, not a boolean", 'such as output = "8M"'),
        ("output = 2020-01-01", "not a date or time", 'such as output = "8M"'),
        ('output = "unlimited"', "cannot be without limit", 'from "64K" to "4G"'),
        ("disk = 0", "out of range", 'from "1M" to "1T", such as disk = "512M"'),
        ("disk = 512", "out of range", 'did you mean "512M"?'),
        ('disk = "1023K"', "out of range", 'from "1M" to "1T"'),
        ('disk = "2T"', "out of range", 'from "1M" to "1T"'),
        ('disk = "half"', "is no size", 'such as disk = "512M"'),
        ('disk = ["1G"]', "a string or a number of bytes, not an array", 'such as disk = "512M"'),
        ('disk = "infinity"', "cannot be without limit", 'from "1M" to "1T"'),
    ],
)
def test_a_wrong_value(line: str, message: str, remedy: str) -> None:
    at, key, what, right = told(line)
    assert (at, key) == (4, f"processes.{line.split()[0]}")
    assert message in what
    assert remedy in right


def test_a_number_of_bytes_is_not_taken_for_another_that_would_be_wrong_as_well() -> None:
    assert "did you mean" not in told("output = 65535")[3]


@pytest.mark.parametrize("value", ["9" * 4000, '"' + "9" * 4000 + 'G"', "1e400", "-1e400", "-" + "9" * 4000])
@pytest.mark.parametrize("name", PROCESS_LIMIT_NAMES)
def test_a_value_without_end_gets_a_short_answer(name: str, value: str) -> None:
    _, key, message, remedy = told(f"{name} = {value}")
    assert key == f"processes.{name}"
    assert len(message + remedy) < 300


@pytest.mark.parametrize(
    ("lines", "line", "key", "message", "remedy"),
    [
        (
            'output = "8M"\ndisk = "4M"',
            5,
            "processes.disk",
            "this is less than is kept of one command, output, which is 8M",
            'at least disk = "8M", or choose a smaller output',
        ),
        (
            'disk = "4M"',
            4,
            "processes.disk",
            "this is less than is kept of one command, output, which is 8M by default",
            'at least disk = "8M", or choose a smaller output',
        ),
        (
            'output = "1G"',
            4,
            "processes.output",
            "this is more than is kept of all commands together, disk, which is 512M by default",
            'add disk = "1G" or more, or choose a smaller output',
        ),
    ],
)
def test_less_room_for_all_than_for_one(lines: str, line: int, key: str, message: str, remedy: str) -> None:
    assert told(lines) == (line, key, message, remedy)


def test_one_mistake_makes_no_others() -> None:
    assert told('output = "5G"\ndisk = "1M"')[1] == "processes.output"
    assert told('output = "1G"\ndisk = "1GB"')[1] == "processes.disk"


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(BadSpecError) as caught:
        parse(text('running = 0\nrecords = "x"\noutput = 1\ndisk = 1\ncolour = 1'), FILE)
    problems = caught.value.details["problems"]
    assert isinstance(problems, list)
    assert [(problem["line"], problem["key"].removeprefix("processes.")) for problem in problems] == [
        (4, "running"),
        (5, "records"),
        (6, "output"),
        (7, "disk"),
        (8, "colour"),
    ]


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_other_words_for_the_keys(alias: str, name: str) -> None:
    assert told(f"{alias} = 1")[1:] == (f"processes.{alias}", "there is no such key", f"did you mean '{name}'?")


@pytest.mark.parametrize(
    ("line", "key", "remedy"),
    [
        ("runing = 3", "runing", "did you mean 'running'?"),
        ("colour = 3", "colour", "processes takes running, output, records and disk"),
        ("tasks_max = 3", "tasks_max", "it belongs below [team], [defaults] or an [agents.NAME] table"),
        ('systemd = "off"', "systemd", "it belongs below [containment]"),
        ('name = "a"', "name", "it belongs below [team]"),
        ("count = 3", "count", "it belongs below an [agents.NAME] table"),
    ],
)
def test_a_key_that_does_not_belong_there(line: str, key: str, remedy: str) -> None:
    assert told(line) == (4, f"processes.{key}", "there is no such key", remedy)


@pytest.mark.parametrize("name", PROCESS_LIMIT_NAMES)
@pytest.mark.parametrize("table", ["", "[team]\n", "[defaults]\n", "[containment]\n", "[agents.builder]\n"])
def test_its_keys_in_another_place(name: str, table: str) -> None:
    whole = text("") + "[defaults]\n[containment]\n"
    with pytest.raises(BadSpecError, match=f"{name}: there is no such") as caught:
        parse(whole.replace(table, f"{table}{name} = 5\n", 1), FILE)
    assert caught.value.remedy == "it belongs below [processes]"


@pytest.mark.parametrize("name", ["process", "commands", "exec", "proc", "proceses"])
def test_other_names_of_the_table(name: str) -> None:
    with pytest.raises(BadSpecError, match=f"{name}: there is no such table") as caught:
        parse(text("").replace("[processes]", f"[{name}]"), FILE)
    assert caught.value.remedy == "did you mean 'processes'?"


def test_what_is_no_table() -> None:
    with pytest.raises(BadSpecError, match="processes: this must be a table, not an integer") as caught:
        parse("processes = 5\n" + text("").replace("[processes]\n", ""), FILE)
    assert caught.value.remedy == "such as [processes] with running = 2048"
