"""What is said of an instance of a member's own in which something may be up. Read on quick commands: no imports."""


class OwnInstance:
    """Where it is, and the teams in it that are known by name."""

    __slots__ = ("home", "teams")

    def __init__(self, home: str, teams: "tuple[str, ...]") -> None:
        self.home = home
        self.teams = teams

    def told(self, whose: str) -> "tuple[str, str]":
        """The sentence, and what helps. `whose` is "your" or the like."""
        named = f": {', '.join(self.teams)}" if self.teams else ""
        message = f"teams of {whose} own instance may still be up, beside the shared server{named}"
        command = f"CORRAL_HOME={self.home} corral"
        if not self.teams:
            return message, f"{command} ps shows them"
        return message, f"{command} down -t {self.teams[0]} takes it down"
