"""Which TCP ports an agent may listen on."""

#: Any, as every program; those of its own block; or none. Anything else is a list of ports (`8080,9000`). But for the
#: first, the kernel (Landlock) sees to it.
ANY_PORT, OWN_PORTS, NO_PORT = "any", "own", "none"
BINDINGS = (ANY_PORT, OWN_PORTS, NO_PORT)


def listed(bind: str) -> tuple[int, ...]:
    """The ports that are named one by one; none if a word says which are meant."""
    return () if bind in BINDINGS else tuple(map(int, bind.split(",")))


def as_json(bind: str) -> str | list[int]:
    """As the file has it."""
    return bind if bind in BINDINGS else list(listed(bind))
