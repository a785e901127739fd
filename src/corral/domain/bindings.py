"""Which TCP ports an agent may listen on."""

#: Any, as every program; or only those of its own block, which the kernel (Landlock) sees to.
ANY_PORT, OWN_PORTS = "any", "own"
BINDINGS = (ANY_PORT, OWN_PORTS)
