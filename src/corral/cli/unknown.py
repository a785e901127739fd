"""What a list does not have because nothing is known of it: on a shared server, of a team whose keeper is silent."""

from corral.cli.output import plain, remark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from corral.client.answers import Record


def remark_on_unknown(rows: "Iterable[Record]", field: str = "why") -> None:
    """A line on stderr for each team of which nothing is known. `field` says why."""
    for team, why in dict.fromkeys((str(row.get("team")), str(row.get(field) or "")) for row in rows):
        if why:
            remark(plain(f"{team} is not known: {why}" if team else why))
