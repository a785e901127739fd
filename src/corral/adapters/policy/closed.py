"""A policy for when there is none that can be asked."""

from __future__ import annotations

from corral.domain.policy import NO_POLICY, Decision, Question, denied


class ClosedPolicy:
    """Denies everything, and says why. For a daemon whose policy cannot be read: it goes on, and lets nobody in."""

    def __init__(self, problem: str) -> None:
        self._reason = f"the policy of this host cannot be used, so everything is denied: {problem}"

    async def decide(self, question: Question) -> Decision:  # noqa: ARG002 - the port's
        """See `ports.policy.Policy`."""
        return denied(NO_POLICY, self._reason)

    def known(self, question: Question) -> Decision | None:  # noqa: ARG002 - the port's
        """See `ports.policy.Policy`."""
        return denied(NO_POLICY, self._reason)

    async def close(self) -> None:
        """See `ports.policy.Policy`."""
