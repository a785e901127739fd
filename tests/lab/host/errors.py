"""What can go wrong outside of the lab."""


class LabError(Exception):
    """The lab failed. The message says at what; `detail` is what a person wants to read next, a log for example."""

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail


class CannotRunError(LabError):
    """This host cannot run the lab. The message is the reason."""
