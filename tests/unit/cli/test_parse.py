"""The parser: how options and arguments may be written, and what is said if they cannot be understood."""

import pytest

from corral.cli.command import COUNT, INTEGER, NUMBER, SECONDS, Argument, Command, Invocation, Option
from corral.cli.parse import asks_for_json, parse
from corral.domain.errors import WrongUseError

LOGS = Command(
    "logs",
    "read logs",
    arguments=(Argument("AGENT", summary="who", required=False, repeated=True),),
    options=(
        Option("follow", "f", summary="go on"),
        Option("raw", "r", summary="as it came"),
        Option("lines", "n", value="N", kind=INTEGER, summary="how many"),
        Option("tail", value="N", kind=COUNT, summary="how many, or all"),
        Option("ratio", value="X", kind=NUMBER, summary="a number"),
        Option("grace", value="S", kind=SECONDS, summary="how long"),
        Option("team", "t", value="TEAM", summary="which team"),
        Option("sort", value="HOW", choices=("time", "name"), summary="order"),
        Option("label", "l", value="LABEL", repeatable=True, summary="several"),
    ),
)
SHELL = Command(
    "completion", "print it", arguments=(Argument("SHELL", summary="which", choices=("bash", "zsh", "fish")),)
)
SEND = Command(
    "send",
    "send",
    arguments=(Argument("AGENT", summary="who"), Argument("TEXT", summary="what", required=False, repeated=True)),
)
INBOX = Command(
    "inbox",
    "look",
    options=(Option("all", "a", summary="all"), Option("team", "t", value="TEAM", summary="which team")),
    run=lambda _: 0,
    commands=(Command("inbox show", "one", arguments=(Argument("N", summary="which"),)),),
)
DAEMON = Command(
    "daemon",
    "the daemon",
    commands=(Command("daemon start", "start"), Command("daemon status", "look"), Command("daemon x", "", hidden=True)),
)


def logs(*words: str) -> Invocation:
    return parse(LOGS, words)


def wrong(command: Command, *words: str) -> WrongUseError:
    with pytest.raises(WrongUseError) as caught:
        parse(command, words)
    return caught.value


class TestOptions:
    @pytest.mark.parametrize(
        "words", [("--lines", "5"), ("--lines=5",), ("-n", "5"), ("-n5",), ("-n=5",), ("-fn5",), ("-rfn", "5")]
    )
    def test_a_value_in_every_spelling(self, words: tuple[str, ...]) -> None:
        assert logs(*words).integer("lines") == 5

    def test_flags_in_a_cluster(self) -> None:
        invocation = logs("-rf")
        assert (invocation.flag("raw"), invocation.flag("follow"), invocation.flag("json")) == (True, True, False)

    def test_anywhere_among_the_arguments(self) -> None:
        invocation = logs("a", "-f", "b", "--team", "shop", "c")
        assert invocation.words("AGENT") == ["a", "b", "c"]
        assert invocation.text("team") == "shop"

    def test_two_dashes_end_them(self) -> None:
        invocation = logs("-f", "--", "-r", "--team", "--")
        assert invocation.words("AGENT") == ["-r", "--team", "--"]
        assert not invocation.flag("raw")

    def test_a_single_dash_is_a_word(self) -> None:
        assert logs("-").words("AGENT") == ["-"]

    def test_an_empty_value_is_a_value(self) -> None:
        assert logs("--team=").text("team") == ""

    def test_of_one_given_twice_the_last_counts(self) -> None:
        assert logs("-n1", "-n2").integer("lines") == 2

    def test_a_repeatable_one_keeps_all(self) -> None:
        assert logs("-l", "a", "--label=b").texts("label") == ["a", "b"]

    def test_those_not_given(self) -> None:
        invocation = logs()
        assert invocation.integer("lines") is None
        assert invocation.text("team") is None
        assert invocation.number("grace") is None
        assert invocation.texts("label") == []
        assert invocation.words("AGENT") == []

    def test_every_command_takes_json(self) -> None:
        assert logs("--json").json

    @pytest.mark.parametrize("words", [("--help",), ("-h",), ("-fh",), ("a", "--help")])
    def test_every_command_takes_help(self, words: tuple[str, ...]) -> None:
        assert logs(*words).wants_help

    def test_help_asks_for_no_arguments(self) -> None:
        assert parse(SEND, ["--help"]).wants_help


class TestKinds:
    def test_a_number(self) -> None:
        assert logs("--ratio", "-1.5").number("ratio") == -1.5

    def test_all_is_a_count(self) -> None:
        assert logs("--tail=all").integer("tail") == -1
        assert logs("--tail=3").integer("tail") == 3

    @pytest.mark.parametrize(
        ("text", "seconds"),
        [
            ("5", 5),
            ("0.5", 0.5),
            ("500ms", 0.5),
            ("90s", 90),
            ("10m", 600),
            ("2h", 7200),
            ("1h30m", 5400),
            ("1d", 86400),
        ],
    )
    def test_a_duration(self, text: str, seconds: float) -> None:
        assert logs("--grace", text).number("grace") == seconds

    @pytest.mark.parametrize("text", ["", "x", "5x", "-5", "5 m", "m", "1.m", ".5", "1e3", "٣", "5m3"])
    def test_what_is_no_duration(self, text: str) -> None:
        assert "a duration such as" in wrong(LOGS, f"--grace={text}").remedy

    @pytest.mark.parametrize("text", ["-1", "1.5", "x", "", "٣"])
    def test_what_is_no_whole_number(self, text: str) -> None:
        assert wrong(LOGS, f"--lines={text}").message == f"--lines cannot be {text!r}"

    @pytest.mark.parametrize("text", ["nan", "inf", "x", ""])
    def test_what_is_no_number(self, text: str) -> None:
        assert wrong(LOGS, f"--ratio={text}").remedy == "it is a number"

    def test_a_choice(self) -> None:
        assert logs("--sort=name").text("sort") == "name"
        assert wrong(LOGS, "--sort=nam").remedy == "did you mean name?"
        assert wrong(LOGS, "--sort=size").remedy == "it is one of: time, name"


class TestMistakes:
    def test_an_unknown_option_gets_a_guess(self) -> None:
        error = wrong(LOGS, "--folow")
        assert (error.message, error.remedy) == ("logs has no option --folow", "did you mean --follow?")
        assert error.exit_code == 2

    def test_an_unknown_letter_names_its_cluster(self) -> None:
        assert wrong(LOGS, "-fx").message == "logs has no option -x (in -fx)"
        assert "--help" in wrong(LOGS, "-x").remedy

    def test_a_forgotten_value(self) -> None:
        assert wrong(LOGS, "--team").message == "--team needs a value: --team TEAM"
        assert wrong(LOGS, "--team", "--json").message == "--team needs a value: --team TEAM"
        assert wrong(LOGS, "-n").message == "-n needs a value: -n N"

    def test_a_value_for_a_flag(self) -> None:
        assert wrong(LOGS, "--follow=yes").message == "--follow takes no value"

    def test_a_missing_argument(self) -> None:
        assert wrong(SEND).message == "send needs AGENT"

    def test_an_argument_too_many(self) -> None:
        assert wrong(SHELL, "bash", "zsh").message == "completion does not take 'zsh'"

    def test_an_argument_that_is_no_choice(self) -> None:
        assert wrong(SHELL, "fisch").remedy == "did you mean fish?"

    def test_text_that_looks_like_an_option_gets_the_way_out(self) -> None:
        assert "goes after --" in wrong(SEND, "builder", "--verbose").remedy


class TestGroups:
    def test_hand_on_to_their_command(self) -> None:
        assert parse(DAEMON, ["status"]).command.name == "daemon status"

    def test_options_may_stand_before_it(self) -> None:
        invocation = parse(DAEMON, ["--json", "status"])
        assert (invocation.command.name, invocation.json) == ("daemon status", True)

    def test_may_do_something_by_themselves(self) -> None:
        for words in ((), ("-a",), ("-t", "show"), ("--team", "show"), ("--team=show", "--all")):
            assert parse(INBOX, words).command is INBOX
        assert parse(INBOX, ("-t", "show")).text("team") == "show"
        assert parse(INBOX, ("show", "3")).command.name == "inbox show"
        assert parse(INBOX, ("--help",)).wants_help
        with pytest.raises(WrongUseError, match="there is no command 'corral inbox shwo'") as mistake:
            parse(INBOX, ("-a", "shwo", "3"))
        assert "show" in mistake.value.remedy

    def test_have_help_of_their_own(self) -> None:
        invocation = parse(DAEMON, ["--help"])
        assert (invocation.command.name, invocation.wants_help) == ("daemon", True)

    def test_need_a_command(self) -> None:
        assert wrong(DAEMON).message == "daemon needs one of: start, status"

    def test_know_their_commands(self) -> None:
        error = wrong(DAEMON, "stat")
        assert error.message == "there is no command 'corral daemon stat'"
        assert "start" in error.remedy


@pytest.mark.parametrize(
    ("words", "answer"),
    [(["ps", "--json"], True), (["--json", "ps"], True), (["send", "a", "--", "--json"], False), (["ps"], False)],
)
def test_json_is_known_even_where_the_rest_is_wrong(words: list[str], answer: bool) -> None:
    assert asks_for_json(words) is answer
