"""What is remembered of leases that were lost: bounded, and only what somebody else got since."""

from corral.domain import lost_leases
from corral.domain.lease_model import EXCLUSIVE, SHARED, Claim, Lease, Party
from corral.domain.lost_leases import LostLeases
from corral.domain.path_patterns import parse


def lease(token: int, party: str, pattern: str, *, run: str = "r", mode: str = EXCLUSIVE, realm: str = "/r") -> Lease:
    claim = Claim(realm=realm, patterns=(parse(pattern),), mode=mode, party=Party(party, run), ttl=60.0)
    return Lease(lease=f"l{token}", token=token, claim=claim, since=0.0)


def test_it_counts_once_somebody_else_got_it() -> None:
    book = LostLeases()
    book.lose(lease(1, "shop/a", "src/"), 5.0)
    assert list(book.of("shop/a", "r")) == []
    for nobody in (
        lease(2, "shop/a", "src/"),
        lease(3, "shop/b", "docs/"),
        lease(4, "shop/b", "src/", mode=SHARED),
        lease(5, "shop/b", "src/", realm="/elsewhere"),
    ):
        assert book.grant(nobody) == []
    taker = lease(6, "shop/b", "src/x")
    (changed,) = book.grant(taker)
    assert list(book.of("shop/a", "r")) == [changed]
    assert (changed.takers, changed.at) == ((taker,), 5.0)
    assert list(book.of("shop/a", "another run")) == []


def test_what_belongs_to_no_run_is_not_remembered() -> None:
    assert LostLeases().lose(lease(1, "ann", "src/", run=""), 0.0) == ([], [])


def test_who_is_gone_is_forgotten() -> None:
    book = LostLeases()
    book.lose(lease(1, "shop/a", "src/"), 0.0)
    book.lose(lease(2, "shop/b", "src/"), 0.0)
    assert [lost.lease.lease for lost in book.forget(["shop/a"])] == ["l1"]
    assert book.forget(["shop/a"]) == []


def test_the_oldest_are_forgotten_first() -> None:
    book = LostLeases()
    for token in range(lost_leases.MOST_LOST):
        assert book.lose(lease(token, "shop/a", "src/"), 0.0)[1] == []
    _, forgotten = book.lose(lease(9999, "shop/a", "src/"), 0.0)
    assert [lost.lease.token for lost in forgotten] == [0]
    for token in range(100):
        book.grant(lease(20_000 + token, "shop/b", "src/"))
    takers = next(book.of("shop/a", "r")).takers
    assert [taker.token for taker in takers] == list(range(20_100 - lost_leases.MOST_TAKERS, 20_100))
