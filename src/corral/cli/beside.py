"""What is said to a member of a shared server in whose own instance something may still be up."""

from corral.cli.output import plain, remark
from corral.client.own_instance import own_instance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from corral.places import Places


def remark_on_own_instance(places: "Places") -> None:
    """Who finds nothing on the server, or starts something there, may have it in an instance of their own."""
    found = own_instance(places)
    if found is not None:
        remark(plain(" → ".join(found.told("your"))))
