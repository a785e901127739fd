"""Paths in a `corral.toml`: relative ones start from the directory of the file, whoever reads them and from where."""

import os.path

from corral.domain.spec_table import Table


def resolved(table: Table, key: str, path: str, directory: str) -> str:
    """`path` made absolute and plain by arithmetic alone; what cannot be a path is reported and comes back as it is."""
    if not path.strip():
        table.wrong(key, "this is empty", f'name a directory, such as {key} = "some/dir"')
    elif not path.isprintable():
        table.wrong(key, "this has control characters in it", f'name a directory, such as {key} = "some/dir"')
    elif path.startswith("~"):
        # Whose home it would be depends on who reads the file.
        table.wrong(key, "'~' is not expanded here", "write the whole path, or one relative to this file")
    else:
        return os.path.normpath(os.path.join(directory, path))
    return path
