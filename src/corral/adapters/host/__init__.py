"""A shared server as it is, and the hands that set it up: what `corral host` sees and does. Runs as root."""
