"""How long it takes to see whether a lease on a file is in the way of a thousand others: run by the Python of Corral.

    python overlap.py LEASES ROUNDS    two lists of seconds as JSON: of Corral's check, and of a scan with fnmatch

fnmatch stands for what people write. It answers another question, whether the pattern matches this name, and does not
see that two patterns can name the same file; it is the floor, not an equal.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from fnmatch import fnmatchcase


def main() -> int:
    """Measure both in turns."""
    from corral.domain.lease_model import EXCLUSIVE, Claim, Party
    from corral.domain.leases import Leases
    from corral.domain.path_patterns import parse

    count, rounds = int(sys.argv[1]), int(sys.argv[2])
    texts = [pattern(number) for number in range(count)]
    leases = Leases()
    for number, text in enumerate(texts):
        claim = Claim(realm="r", patterns=(parse(text),), mode=EXCLUSIVE, party=Party(f"t/a-{number}"), ttl=60.0)
        leases.grant(claim, number + 1, 0.0, 0.0)
    # In the way of none of them, so that every one that could be has to be looked at.
    path = "services/web/src/handlers/payments.py"
    asked = Claim(realm="r", patterns=(parse(path),), mode=EXCLUSIVE, party=Party("t/other"), ttl=60.0)
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        times[0].append(timed(lambda: leases.conflict(asked)))
        times[1].append(timed(lambda: [text for text in texts if fnmatchcase(path, text)]))
    if leases.conflict(asked) is not None:
        raise SystemExit("bench: a lease is in the way that should not be")
    print(json.dumps(times))
    return 0


def pattern(number: int) -> str:
    """What agents hold: files, directories, kinds of files; a tenth of them may be anywhere."""
    kinds = (
        f"services/web/src/module_{number}/views.py",
        f"services/web/src/module_{number}/",
        f"services/web/src/module_{number}/**/*.py",
        f"services/web/*/module_{number}/test_*.py",
        f"docs/chapter-{number}/*.md",
        f"services/web/src/handlers/order_{number}.py",
        f"services/web/src/handlers/[a-o]*_{number}.py",
        f"lib/part_{number}/?rc/*.c",
        f"services/*/src/module_{number}/**",
        f"**/generated_{number}.py",
    )
    return kinds[number % len(kinds)]


def timed(run: Callable[[], object]) -> float:
    """Seconds."""
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())
