"""Registering the MCP server: what is added to a configuration file, what stays, and what is left alone."""

import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.errors import RefusedError
from corral.domain.mcp_registration import (
    ARGUMENTS,
    NAME,
    PROGRAM,
    ServerFile,
    holds_more,
    is_ours,
    is_registered,
    registered,
)

COMMAND = ["/opt/corral/bin/corral", "mcp"]
JSON = ServerFile(files=("a.json",), table="mcpServers", entry={"command": PROGRAM, "args": [ARGUMENTS], "timeout": 5})
LISTED = ServerFile(files=("a.json",), table="mcp", entry={"type": "local", "command": [PROGRAM, ARGUMENTS]})
TOML = ServerFile(
    files=("a.toml",), table="mcp_servers", entry={"command": PROGRAM, "args": [ARGUMENTS], "env_vars": ["A", "B"]}
)


def added(where: ServerFile, text: str, command: list[str] = COMMAND) -> str:
    """The text with the server in it; done a second time, there is nothing left to do."""
    new = registered(where, where.files[0], text, command)
    assert new is not None
    assert registered(where, where.files[0], new, command) is None
    return new


def refused(where: ServerFile, text: str) -> str:
    with pytest.raises(RefusedError) as caught:
        registered(where, where.files[0], text, COMMAND)
    assert caught.value.remedy.endswith("then run corral up again")
    return caught.value.message


class TestJson:
    def test_a_new_file(self) -> None:
        assert added(JSON, "") == (
            "{\n"
            '  "mcpServers": {\n'
            '    "corral": {\n'
            '      "command": "/opt/corral/bin/corral",\n'
            '      "args": ["mcp"],\n'
            '      "timeout": 5\n'
            "    }\n"
            "  }\n"
            "}\n"
        )

    def test_the_program_and_its_arguments_in_one_list(self) -> None:
        entry = {"type": "local", "command": ["/usr/bin/python3", "-P", "-m", "corral", "mcp"]}
        new = added(LISTED, "", ["/usr/bin/python3", "-P", "-m", "corral", "mcp"])
        assert json.loads(new) == {"mcp": {NAME: entry}}

    def test_beside_others_in_their_layout(self) -> None:
        text = '{\n\t"theme": "dark",\n\t"mcpServers": {\n\t\t"db": {"command": "db-mcp"}\n\t}\n}\n'
        assert added(JSON, text) == (
            '{\n\t"theme": "dark",\n\t"mcpServers": {\n\t\t"db": {"command": "db-mcp"},\n'
            '\t\t"corral": {\n\t\t\t"command": "/opt/corral/bin/corral",\n\t\t\t"args": ["mcp"],\n\t\t\t"timeout": 5\n'
            "\t\t}\n\t}\n}\n"
        )

    def test_on_one_line(self) -> None:
        entry = '{"command": "/opt/corral/bin/corral", "args": ["mcp"], "timeout": 5}'
        assert added(JSON, '{"a": 1}') == f'{{"a": 1, "mcpServers": {{"corral": {entry}}}}}'
        assert added(JSON, '{"mcpServers": {}}') == f'{{"mcpServers": {{"corral": {entry}}}}}'

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ('{\n  "a": 1 // why\n}', '{\n  "a": 1, // why\n  "mcpServers": {'),
            ('{\n  "a": 1, // why\n}', '{\n  "a": 1, // why\n  "mcpServers": {'),
            ('{\n  "a": 1 /* , */\n}', '{\n  "a": 1, /* , */\n  "mcpServers": {'),
            ("{\n  // nothing yet\n}", '{\n  // nothing yet\n  "mcpServers": {'),
            ('// top\n{\n  "a": "// no comment"\n}', '// top\n{\n  "a": "// no comment",\n  "mcpServers": {'),
        ],
    )
    def test_comments_stay_where_they_are(self, before: str, after: str) -> None:
        assert added(JSON, before).startswith(after)

    def test_line_ends_of_others(self) -> None:
        new = added(JSON, '{\r\n  "a": 1\r\n}\r\n')
        assert new.count("\n") == new.count("\r\n") > 3

    def test_a_mark_at_the_beginning(self) -> None:
        assert added(JSON, '\ufeff{"a": 1}').startswith('\ufeff{"a": 1, ')
        assert json.loads(added(JSON, "\ufeff \n"))

    @given(
        st.dictionaries(
            st.text().filter(lambda key: key != "mcpServers"),
            st.recursive(
                st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
                lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
                max_leaves=8,
            ),
        ),
        st.sampled_from([None, 0, 1, 2, "\t"]),
        st.booleans(),
    )
    def test_whatever_else_it_says_stays(
        self, data: dict[str, object], indent: int | str | None, ascii_only: bool
    ) -> None:
        text = json.dumps(data, indent=indent, ensure_ascii=ascii_only)
        new = json.loads(added(JSON, text))
        assert new.pop("mcpServers")[NAME]["command"] == COMMAND[0]
        assert new == data
        # Nothing is written anew: take out what was put in, and the old text is left.
        assert (
            text[: len(text.rstrip().removesuffix("}").rstrip())]
            == added(JSON, text)[: len(text.rstrip()[:-1].rstrip())]
        )

    @pytest.mark.parametrize(
        "text",
        [
            "{",
            '{"a": }',
            '{"a" 1}',
            '{"a": 1 "b": 2}',
            '{"a": 01}',
            '{"a": "x\ny"}',
            '{"a": [1, 2}',
            "{} {}",
            "{a: 1}",
            "/* {}",
            "[]",
            "null",
            '{"mcpServers": []}',
            '{"mcpServers": {}, "mcpServers": {}}',
            "[" * 10_000,
            '{"a":' * 10_000,
        ],
    )
    def test_what_cannot_be_read_is_left_alone(self, text: str) -> None:
        assert "was left as it is" in refused(JSON, text)

    def test_where_it_goes_wrong_is_said(self) -> None:
        assert "at line 3" in refused(JSON, '{\n  "a": 1,\n  b\n}')


class TestToml:
    def test_a_new_file(self) -> None:
        assert added(TOML, "") == (
            '[mcp_servers.corral]\ncommand = "/opt/corral/bin/corral"\nargs = ["mcp"]\nenv_vars = ["A", "B"]\n'
        )

    @pytest.mark.parametrize(
        "before", ["# mine\nmodel = 'x'  # why\n", '[mcp_servers.db]\ncommand = "db"\n\n# end\n', "a = 1"]
    )
    def test_at_the_end_of_one_that_is_there(self, before: str) -> None:
        new = added(TOML, before)
        assert new.startswith(before)
        said = tomllib.loads(new)
        assert said["mcp_servers"].pop(NAME)["args"] == ["mcp"]
        assert {key: value for key, value in said.items() if value} == tomllib.loads(before)

    def test_a_path_that_needs_escapes(self) -> None:
        odd = ['/opt/"odd" \\ \x7f name/corral', "mcp"]
        assert tomllib.loads(added(TOML, "", odd))["mcp_servers"][NAME]["command"] == odd[0]

    @pytest.mark.parametrize(
        "text",
        [
            "a = ",
            "mcp_servers = {}",
            "mcp_servers = 1",
            "mcp_servers.corral = { command = 'x', args = [] }",
            "[[mcp_servers]]",
        ],
    )
    def test_what_cannot_be_added_to_is_left_alone(self, text: str) -> None:
        refused(TOML, text)

    def test_where_it_goes_wrong_is_said(self) -> None:
        assert "line 2: this is not TOML" in refused(TOML, "a = 1\nb = oops\n")


class TestAnEntryOfOurs:
    def test_is_brought_up_to_date_and_keeps_what_a_person_put_there(self) -> None:
        text = '{"mcpServers": {"corral": {"command": "/old/corral", "args": ["mcp"], "trust": true, "timeout": 9}}}'
        assert added(JSON, text) == text.replace("/old/corral", COMMAND[0])

    def test_in_toml_too(self) -> None:
        text = '[mcp_servers.corral]\n# mine\ncommand = "/old/corral"\nargs = [\n  "mcp",\n]\nenabled = false\n\n[x]\n'
        assert added(TOML, text) == text.replace("/old/corral", COMMAND[0])

    def test_that_lacks_a_key_gets_it(self) -> None:
        python = ["/usr/bin/python3", "-P", "-m", "corral", "mcp"]
        text = '[mcp_servers.corral]\ncommand = "/old/corral"\nargs = ["mcp"]\n'
        assert tomllib.loads(added(TOML, text, python))["mcp_servers"][NAME]["args"] == python[1:]
        text = '{"mcp": {"corral": {"type": "local", "command": ["corral", "mcp"]}}}'
        assert json.loads(added(LISTED, text))["mcp"][NAME]["command"] == COMMAND

    def test_that_is_as_it_should_be_is_not_touched(self) -> None:
        text = '{"mcpServers": {"corral": {"args": ["mcp"], "command": "/opt/corral/bin/corral"}}} // mine'
        assert registered(JSON, "a.json", text, COMMAND) is None

    def test_in_a_form_that_we_do_not_write_is_left_alone(self) -> None:
        text = '[mcp_servers]\ncorral = { command = "/old/corral", args = ["mcp"] }\n'
        assert "is not written as [mcp_servers.corral]" in refused(TOML, text)

    @pytest.mark.parametrize(
        ("entry", "ours"),
        [
            ({"command": "corral", "args": ["mcp"]}, True),
            ({"command": "/x/corral", "args": ["mcp"], "env": {}}, True),
            ({"command": "python3", "args": ["-P", "-m", "corral", "mcp"]}, True),
            ({"command": ["corral", "mcp"]}, True),
            ({"command": "corral", "args": ["ps"]}, False),
            ({"command": "horses", "args": ["mcp"]}, False),
            ({"command": "corral"}, False),
            ({"url": "https://example.com/mcp"}, False),
            ({"command": 5, "args": ["mcp"]}, False),
            ("corral mcp", False),
            (None, False),
        ],
    )
    def test_is_known_by_what_it_starts(self, entry: object, ours: bool) -> None:
        assert is_ours(entry) is ours


def test_somebody_elses_entry_is_left_alone() -> None:
    assert "not Corral's" in refused(JSON, '{"mcpServers": {"corral": {"url": "https://horses.example"}}}')
    assert "not Corral's" in refused(TOML, '[mcp_servers.corral]\nurl = "https://horses.example"\n')


def test_whether_it_is_registered() -> None:
    assert is_registered(JSON, "a.json", '{"mcpServers": {"corral": {"command": "corral", "args": ["mcp"]}}}')
    assert not is_registered(JSON, "a.json", '{"mcpServers": {"corral": {"url": "x"}}}')
    assert not is_registered(JSON, "a.json", '{"mcpServers": 1}')
    assert not is_registered(JSON, "a.json", "{")


class TestWhetherAFileHoldsMore:
    def test_not_what_was_written(self) -> None:
        assert not holds_more(JSON, "a.json", added(JSON, ""))
        assert not holds_more(TOML, "a.toml", added(TOML, ""))

    def test_not_the_schema_that_opencode_adds(self) -> None:
        assert not holds_more(LISTED, "a.json", '{"$schema": "x", ' + added(LISTED, "").lstrip("{\n "))

    @pytest.mark.parametrize("text", ['{"a": 1}', '{"mcpServers": {"db": {}}}', "{", '{"mcpServers": 1}'])
    def test_everything_else_does(self, text: str) -> None:
        assert holds_more(JSON, "a.json", text)
