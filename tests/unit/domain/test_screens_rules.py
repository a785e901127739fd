"""Rules: the first that fits speaks; every pattern of it must be found, and none that it excludes."""

from corral.domain.screens import Rule, read

PERMISSION = Rule(name="permission", says="waiting", about="permission", lines=("Do you want", "1. Yes"))
WORKING = Rule(name="working", says="working", lines=("esc to interrupt",), unless=("1. Yes",))
TITLED = Rule(name="titled", says="working", title="^◐")


def test_every_pattern_has_to_be_found_in_some_line() -> None:
    assert read([PERMISSION], ["Do you want to proceed?"]) is None
    reading = read([PERMISSION], ["Do you want to proceed?", " ❯ 1. Yes"])
    assert reading is not None
    assert (reading.rule, reading.line) == (PERMISSION, "Do you want to proceed?")


def test_the_first_rule_that_fits_speaks() -> None:
    screen = ["Do you want to proceed?", "1. Yes", "esc to interrupt"]
    both = Rule(name="also", says="working", lines=("esc to interrupt",))
    assert [
        found.rule.name for rules in ([PERMISSION, both], [both, PERMISSION]) if (found := read(rules, screen))
    ] == [
        "permission",
        "also",
    ]


def test_what_is_excluded_must_not_be_there() -> None:
    assert read([WORKING], ["esc to interrupt"]) is not None
    assert read([WORKING], ["esc to interrupt", "1. Yes"]) is None


def test_a_title_alone_can_say_it() -> None:
    reading = read([TITLED], [], "◐ thinking")
    assert reading is not None
    assert reading.line == ""
    assert read([TITLED], ["◐ thinking"], "shell") is None
