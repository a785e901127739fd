"""The completion script for fish."""

from corral.cli import completable
from corral.cli.command import Argument, Option
from corral.cli.completable import asking, last_word, offer, spellings

_FRAME = """\
# Completion of corral for fish. Made by: corral completion fish

# The command so far, and how many words by position have been given to it.
function __corral_where
    set -l command ''
    set -l position 0
    set -l skip 0
    set -l ended 0
    for word in (commandline -opc)[2..-1]
        if test $skip = 1
            set skip 0
        else if test $ended = 0 -a "x$word" = x--
            set ended 1
        else if test $ended = 0; and string match -q -- '-*' $word
            switch "$command $word"
                case @VALUED@
                    set skip 1
            end
        else if test -z "$command"
            set command $word
        else if contains -- $command @GROUPS@
            set command "$command $word"
        else
            set position (math $position + 1)
        end
    end
    echo $command
    echo $position
end

function __corral_in
    test (__corral_where)[1] = "$argv"
end

function __corral_at
    set -l where (__corral_where)
    test "$where[1]" = "$argv[1]" -a "$where[2]" = "$argv[2]"
end

# Agents that are up and fit what is typed: by their bare names, else as TEAM/AGENT.
function __corral_agents
    set -l typed (commandline -ct)
    set -l names (@ASK_AGENTS@)
    if string match -q -- '*/*' $typed; or not string match -q -- "$typed*" $names
        set names (@ASK_FULL@)
    end
    string join \\n -- $names
end

function __corral_declared
    set -l words (commandline -opc)
    set -l file
    for at in (seq 2 (count $words))
        switch $words[$at]
            case -f --file
                set file -f $words[(math $at + 1)]
            case '--file=*'
                set file -f (string replace -- --file= '' $words[$at])
        end
    end
    @ASK_DECLARED@ (string replace -r -- '^~/' "$HOME/" $file) 2>/dev/null
end

complete -c corral -f
@LINES@
"""


def render() -> str:
    """The script."""
    lines = [
        "complete -c corral -n '__corral_in \"\"' -s h -l help -d 'show help'",
        "complete -c corral -n '__corral_in \"\"' -l version -d 'print the version'",
    ]
    valued: list[str] = []
    lines.extend(_word('__corral_in ""', command.name, command.summary) for command in completable.top())
    lines.extend(
        _word(f'__corral_in "{group.name}"', last_word(child), child.summary)
        for group in completable.groups()
        for child in completable.children(group)
    )
    for command in completable.leaves():
        here = f'__corral_in "{command.name}"'
        for option in completable.options(command):
            lines.append(_option(here, option))
            if option.value:
                valued.extend(_quoted(f"{command.name} {spelling}") for spelling in spellings(option))
        for position, argument in enumerate(command.arguments):
            values = _values(argument)
            if values:
                where = here if argument.repeated else f'__corral_at "{command.name}" {position}'
                lines.append(f"complete -c corral -n {_quoted(where)} {values}")
    return asking(
        _FRAME.replace("@VALUED@", " ".join(valued))
        .replace("@GROUPS@", " ".join(group.name for group in completable.groups()))
        .replace("@LINES@", "\n".join(lines))
    )


def _word(condition: str, word: str, summary: str) -> str:
    return f"complete -c corral -n {_quoted(condition)} -a {word} -d {_quoted(summary)}"


def _option(condition: str, option: Option) -> str:
    short = f" -s {option.short}" if option.short else ""
    values = f" {_values(option) or '-x'}" if option.value else ""
    return f"complete -c corral -n {_quoted(condition)}{short} -l {option.name}{values} -d {_quoted(option.summary)}"


def _values(of: Option | Argument) -> str:
    """What fish is told about a value; an option's excludes files (-x) unless files are meant."""
    kind, words = offer(of)
    exclusive = "-x " if isinstance(of, Option) else ""
    if kind in ("agents", "declared"):
        return f"{exclusive}-a '(__corral_{kind})'"
    if kind in ("teams", "processes", "members", "users"):
        return f"{exclusive}-a '(@ASK_{kind.upper()}@)'"
    if kind == "words":
        return f"{exclusive}-a {_quoted(' '.join(words))}"
    return "-r -F" if kind == "files" else ""


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
