"""How long decisions of the policy take: run by the Python of Corral.

    python decisions.py ROUNDS    lists of seconds as JSON, by question: the first time that it is asked, and again

What is asked again is remembered, so the first time is what counts.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace

#: Rounds that do not count: in the first few nothing is in any cache of the processor.
_WARM_UP = 10


def main() -> int:
    """Ask all in turns."""
    import uvloop

    print(json.dumps(uvloop.run(decide(int(sys.argv[1])))))
    return 0


async def decide(rounds: int) -> dict[str, list[float]]:
    """The seconds of each."""
    from corral.adapters.policy.rego_policy import RegoPolicy
    from corral.adapters.policy.sources import read
    from corral.domain.policy import Caller, Question, Target

    june = Caller(user="june", uid=1001, member=True, role="junior", teams=("shop",))
    builder = Target(kind="agent", team="shop", agent="builder", owner="june", owner_role="junior")
    asked = {
        "allowed: a junior types to an own agent": Question(verb="send", who=june, on=builder),
        "allowed: a senior joins the agent of a junior": Question(
            verb="attach", who=replace(june, user="sam", role="senior"), on=builder, facts={"mode": "drive"}
        ),
        "allowed: an agent takes a lease": Question(
            verb="acquire_lease", who=replace(june, agent="shop/builder"), on=builder
        ),
        "denied: a junior reads another's output": Question(verb="logs", who=replace(june, user="jim"), on=builder),
    }
    policy = RegoPolicy(read(), 10.0)
    await policy.start()
    times: dict[str, list[float]] = {name + then: [] for name in asked for then in ("", ", again")}
    for turn in range(rounds + _WARM_UP):
        for name, question in asked.items():
            new = replace(question, who=replace(question.who, uid=2000 + turn))
            for then in ("", ", again"):
                began = time.perf_counter()
                decision = await policy.decide(new)
                took = time.perf_counter() - began
                if decision.allow != name.startswith("allowed"):
                    raise SystemExit(f"bench: {name}: {decision}")
                if turn >= _WARM_UP:
                    times[name + then].append(took)
    await policy.close()
    return times


if __name__ == "__main__":
    sys.exit(main())
