"""The completion script for zsh."""

from corral.cli import completable
from corral.cli.command import Argument, Command, Option
from corral.cli.completable import asking, last_word, offer

_FRAME = """\
#compdef corral
# Completion of corral for zsh. Made by: corral completion zsh

# Agents that are up and fit what is typed: by their bare names, else as TEAM/AGENT.
_corral_agents() {
    local -a names
    names=(${(f)"$(@ASK_AGENTS@)"})
    [[ $PREFIX != */* ]] && compadd -a names && return
    names=(${(f)"$(@ASK_FULL@)"})
    compadd -a names
}

_corral_declared() {
    local -a names
    local file=${(Q)opt_args[-f]:-${(Q)opt_args[--file]}}
    names=(${(f)"$(@ASK_DECLARED@ ${file:+-f} ${file:+${file/#\\~\\//$HOME/}} 2>/dev/null)"})
    compadd -a names
}

_corral_teams() {
    local -a names
    names=(${(f)"$(@ASK_TEAMS@)"})
    compadd -a names
}

_corral_processes() {
    local -a names
    names=(${(f)"$(@ASK_PROCESSES@)"})
    compadd -a names
}

_corral_members() {
    local -a names
    names=(${(f)"$(@ASK_MEMBERS@)"})
    compadd -a names
}

_corral_users() {
    local -a names
    names=(${(f)"$(@ASK_USERS@)"})
    compadd -a names
}

_corral() {
    local curcontext=$curcontext state state_descr line
    typeset -A opt_args
    local -a commands
    commands=(
@COMMANDS@
    )
    # -A: what follows the command is the command's own, options too.
    _arguments -C -S -A '-*' \\
        '(- *)'{-h,--help}'[show help]' \\
        '(- *)--version[print the version]' \\
        '--json[one JSON document on stdout]' \\
        '1: :->command' \\
        '*:: :->rest'
    case $state in
        command)
            _describe -t commands command commands
            ;;
        rest)
            case $words[1] in
@CASES@
            esac
            ;;
    esac
}

if [[ $funcstack[1] == _corral ]]; then
    _corral "$@"
else
    compdef _corral corral
fi
"""


def render() -> str:
    """The script."""
    top = completable.top()
    commands = "\n".join(f"        {_quoted(_described(command))}" for command in top)
    cases = "\n".join(_group(command) if command.commands else _leaf(command, " " * 16) for command in top)
    return asking(_FRAME.replace("@COMMANDS@", commands).replace("@CASES@", cases))


def _described(command: Command) -> str:
    return f"{last_word(command)}:{command.summary}"


def _leaf(command: Command, indent: str) -> str:
    specs = [spec for option in completable.options(command) for spec in _option(option)]
    specs.extend(_argument(argument, position) for position, argument in enumerate(command.arguments, 1))
    joined = f" \\\n{indent}        ".join(specs)
    return f"{indent}{last_word(command)})\n{indent}    _arguments -s -S \\\n{indent}        {joined}\n{indent}    ;;"


def _group(group: Command) -> str:
    indent = " " * 16
    children = completable.children(group)
    words = "\n".join(f"{indent}        {_quoted(_described(child))}" for child in children)
    leaves = "\n".join(_leaf(child, indent + "            ") for child in children)
    return f"""\
{indent}{group.name})
{indent}    commands=(
{words}
{indent}    )
{indent}    _arguments -C -S -A '-*' '(- *)'{{-h,--help}}'[show help]' '--json[one JSON document]' \\
{indent}        '1: :->command' '*:: :->rest'
{indent}    case $state in
{indent}        command) _describe -t commands command commands ;;
{indent}        rest)
{indent}            case $words[1] in
{leaves}
{indent}            esac
{indent}            ;;
{indent}    esac
{indent}    ;;"""


def _option(option: Option) -> list[str]:
    text = f"[{_escaped(option.summary)}]"
    value = f":{option.value}:{_action(option)}" if option.value else ""
    # `=` lets the value of a long option stand in the same word or in the next; `+` the same for a short one.
    long, short = f"--{option.name}" + ("=" if value else ""), f"-{option.short}" + ("+" if value else "")
    if not option.short:
        return [_quoted(("*" if option.repeatable else "") + long + text + value)]
    exclude = "*" if option.repeatable else f"(-{option.short} --{option.name})"
    return [_quoted(exclude + spelling + text + value) for spelling in (short, long)]


def _argument(argument: Argument, position: int) -> str:
    where = "*" if argument.repeated else str(position)
    return _quoted(f"{where}:{argument.name}:{_action(argument)}")


def _action(of: Option | Argument) -> str:
    kind, words = offer(of)
    actions = {kind: f"_corral_{kind}" for kind in ("agents", "declared", "teams", "processes", "members", "users")}
    actions |= {"files": "_files", "words": f"({' '.join(words)})"}
    # Not the blank that zsh has for this: it makes the first tab show that nothing is to be offered.
    return actions.get(kind, "( )")


def _escaped(text: str) -> str:
    for special in "\\[]:":
        text = text.replace(special, "\\" + special)
    return text


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
