"""A program that has the terminal to itself until it ends, and after which there is something left to say."""

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Keys that are the program's while it has the terminal: the kernel sends them to us as well.
_ITS_KEYS = (signal.SIGINT, signal.SIGQUIT)
#: Whoever wants us to end means the program.
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP)
#: Python ignores these, and what it starts would inherit that.
_IGNORED_HERE = (signal.SIGPIPE, signal.SIGXFSZ)


def run_in_front(argv: "Sequence[str]", environment: "Mapping[str, str]") -> int:
    """The program's exit code, 128 and the signal for a death by one. `OSError` if it cannot be started.

    If it suspends itself, so do we: the shell that waits for us gets its prompt, and `fg` has both go on.
    """
    before = {number: signal.signal(number, signal.SIG_IGN) for number in _ITS_KEYS}
    # What comes while there is nobody yet to pass it on to waits.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON)
    try:
        own = [*_ITS_KEYS, *_IGNORED_HERE]
        pid = os.posix_spawnp(argv[0], list(argv), environment, setsigmask=mask, setsigdef=own)
        for number in _PASSED_ON:
            before[number] = signal.signal(number, lambda number, _: os.kill(pid, number))
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        while True:
            _, status = os.waitpid(pid, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code
            os.kill(os.getpid(), signal.SIGSTOP)
            os.kill(pid, signal.SIGCONT)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in before.items():
            signal.signal(number, handler)
