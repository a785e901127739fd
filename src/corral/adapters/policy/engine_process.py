"""The process that evaluates Rego: `python -m corral.adapters.policy.engine_process`, started by `engine`.

A document a line, in and out. The first is the policy, and is answered when it is compiled; every other one is a
question, and is answered in its turn. It ends with its standard input, so with whoever started it.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from typing import BinaryIO

import msgspec

from corral.adapters.policy.engine_lines import NEEDS, Answered, Ask, Load, Loaded
from corral.domain.errors import BadPolicyError


def main() -> int:
    """Answer until nobody asks any more."""
    # Whoever asks is to end this process; a key of theirs is not meant for it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # It may well break down, with questions of people in its memory.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    said, told = sys.stdin.buffer, _answers_alone()
    encoder = msgspec.json.Encoder()
    policy = msgspec.json.decode(said.readline(), type=Load)
    try:
        from corral.adapters.policy.rego import EvaluationError, Rego
    except (ImportError, OSError) as error:
        told.write(encoder.encode(Loaded(f"the engine of policies cannot be loaded: {error}", NEEDS)) + b"\n")
        return 0
    try:
        rego = Rego(policy.modules, policy.data, policy.entry_points)
    except BadPolicyError as error:
        told.write(encoder.encode(Loaded(error.message, error.remedy)) + b"\n")
        return 0
    told.write(encoder.encode(Loaded()) + b"\n")
    told.flush()
    decoder = msgspec.json.Decoder(Ask)
    for line in said:
        ask = decoder.decode(line)
        try:
            answered = Answered(value=rego.ask(ask.document, ask.path))
        except EvaluationError as error:
            answered = Answered(failure=str(error))
        told.write(encoder.encode(answered) + b"\n")
        told.flush()
    return 0


def _answers_alone() -> BinaryIO:
    """Where answers go, and nothing else does: rego-cpp has `print` of a rule write to standard output.

    What a rule of one team printed could be read as the answer to a question about another.
    """
    told = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    return told


if __name__ == "__main__":
    sys.exit(main())
