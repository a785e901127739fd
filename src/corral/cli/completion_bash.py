"""The completion script for bash. It needs nothing but bash itself."""

from corral.cli import completable
from corral.cli.command import Argument, Option
from corral.cli.completable import asking, last_word, offer, spellings

_FRAME = """\
# Completion of corral for bash. Made by: corral completion bash

# What may follow an option ($2) of a command ($1), or stand at a position ($2) of it.
_corral_kind() {
    case "$1 $2" in
@KINDS@
    esac
}

# Whether an option ($2) of a command ($1) takes the next word as its value.
_corral_takes_value() {
    case "$1 $2" in
@VALUED@
    esac
    return 1
}

_corral_options() {
    case $1 in
@OPTIONS@
    esac
}

# Agents that are up and fit what is typed ($1): by their bare names, else as TEAM/AGENT.
_corral_agents() {
    local names=''
    [[ $1 == */* ]] || names=$(compgen -W "$(@ASK_AGENTS@)" -- "$1")
    [[ -n $names ]] || names=$(@ASK_FULL@)
    echo "$names"
}

_corral() {
    local cur=${COMP_WORDS[COMP_CWORD]} command='' option='' word ended='' offered='' file=''
    local -i at position=0
    # Bash makes a word of its own of the = in --team=shop.
    [[ $cur == '=' ]] && cur=''
    for ((at = 1; at < COMP_CWORD; at++)); do
        word=${COMP_WORDS[at]}
        if [[ -n $option ]]; then
            [[ $option != -f && $option != --file ]] || file=$word
            [[ $word == '=' ]] || option=''
        elif [[ -z $ended && $word == '--' ]]; then
            ended=1
        elif [[ -z $ended && $word == -* ]]; then
            _corral_takes_value "$command" "$word" && option=$word
        elif [[ -z $command ]]; then
            command=$word
        elif [[ ' @GROUPS@ ' == *" $command "* ]]; then
            command="$command $word"
        else
            position+=1
        fi
    done
    local kind
    if [[ -n $option ]]; then
        kind=$(_corral_kind "$command" "$option")
    elif [[ -z $ended && $cur == -* ]]; then
        kind="words $(_corral_options "$command")"
    else
        kind=$(_corral_kind "$command" "$position")
    fi
    case $kind in
        agents) offered=$(_corral_agents "$cur") ;;
        declared) offered=$(@ASK_DECLARED@ ${file:+-f "${file/#\\~\\//$HOME/}"} 2>/dev/null) ;;
        teams) offered=$(@ASK_TEAMS@) ;;
        processes) offered=$(@ASK_PROCESSES@) ;;
        members) offered=$(@ASK_MEMBERS@) ;;
        users) offered=$(@ASK_USERS@) ;;
        words\\ *) offered=${kind#words } ;;
        files)
            compopt -o filenames 2>/dev/null
            local IFS=$'\\n'
            COMPREPLY=($(compgen -f -- "$cur"))
            return
            ;;
    esac
    COMPREPLY=($(compgen -W "$offered" -- "$cur"))
}

complete -F _corral corral
"""


def _offered(of: Option | Argument) -> list[str]:
    kind, words = offer(of)
    return [kind or "nothing", *words]


def render() -> str:
    """The script."""
    top = completable.top()
    kinds = [f"        ' 0') echo 'words {' '.join(command.name for command in top)}' ;;"]
    valued: list[str] = []
    listed = ["        '') echo '--help --version --json' ;;"]
    for group in completable.groups():
        words = " ".join(map(last_word, completable.children(group)))
        kinds.append(f"        '{group.name} 0') echo 'words {words}' ;;")
        listed.append(f"        {group.name}) echo '--help --json' ;;")
    for command in completable.leaves():
        for option in completable.options(command):
            if not option.value:
                continue
            keys = " | ".join(f"'{command.name} {spelling}'" for spelling in spellings(option))
            valued.append(f"        {keys}) return 0 ;;")
            # Also where nothing can be offered: what stands for positions below must not match it.
            kinds.append(f"        {keys}) echo '{' '.join(_offered(option))}' ;;")
        for position, argument in enumerate(command.arguments):
            # A repeated argument is at its position and at all that follow.
            key = f"'{command.name} '*" if argument.repeated else f"'{command.name} {position}'"
            kinds.append(f"        {key}) echo '{' '.join(_offered(argument))}' ;;")
        every = " ".join(spelling for option in completable.options(command) for spelling in spellings(option))
        listed.append(f"        '{command.name}') echo '{every}' ;;")
    return asking(
        _FRAME.replace("@KINDS@", "\n".join(kinds))
        .replace("@VALUED@", "\n".join(valued))
        .replace("@OPTIONS@", "\n".join(listed))
        .replace("@GROUPS@", " ".join(group.name for group in completable.groups()))
    )
