"""Who decides: an engine on this host, or an OPA server; and the files that say how."""
