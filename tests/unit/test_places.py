"""Which directories the environment names, and that another home alone is another instance."""

from corral.places import Places

_SESSION = {"HOME": "/home/ada", "XDG_RUNTIME_DIR": "/run/user/1000"}


def _runtime(**more: str) -> str:
    return Places.from_environment({**_SESSION, **more}).runtime


def test_the_defaults_follow_xdg() -> None:
    places = Places.from_environment(_SESSION)
    assert (places.home, places.runtime) == ("/home/ada/.local/state/corral", "/run/user/1000/corral")
    assert Places.from_environment({"HOME": "/home/ada"}).runtime == "/home/ada/.local/state/corral/run"


def test_another_home_has_sockets_of_its_own() -> None:
    assert len({_runtime(), _runtime(CORRAL_HOME="/srv/one"), _runtime(CORRAL_HOME="/srv/two")}) == 3
    assert _runtime(CORRAL_HOME="/srv/one").startswith("/run/user/1000/corral-")
    assert _runtime(CORRAL_HOME="/srv/one") == _runtime(CORRAL_HOME="/srv/x/../one")


def test_the_default_home_by_its_name_is_the_default_instance() -> None:
    assert _runtime(CORRAL_HOME="/home/ada/.local/state/corral") == _runtime()


def test_what_is_named_is_used() -> None:
    assert _runtime(CORRAL_HOME="/srv/one", CORRAL_RUNTIME_DIR="/run/one") == "/run/one"
