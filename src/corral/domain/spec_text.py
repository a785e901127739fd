"""From the bytes of a TOML file to its text.

`corral up` needs no more than this before it asks the daemon, so what reads TOML is loaded only to say what is wrong.
"""

from corral.domain.errors import BadSpecError

#: A file with a long prompt has some ten thousand bytes. The limit also bounds a prompt to what `send` takes.
MAX_BYTES = 1024 * 1024


def decode(data: bytes, file: str) -> str:
    """The text of a TOML file from its bytes. Raises BadSpecError if it is too large or not UTF-8."""
    if len(data) > MAX_BYTES:
        raise too_large(file)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise not_utf8(file, data[: error.start].count(b"\n") + 1) from error


def too_large(file: str) -> BadSpecError:
    """The error for a file of more than MAX_BYTES."""
    return _bad_file(
        file,
        1,
        f"the file has more than {MAX_BYTES} bytes",
        "keep long instructions in a file of the repository and let the prompt name it",
    )


def not_utf8(file: str, line: int) -> BadSpecError:
    """The error for a file that is no UTF-8 from `line` on."""
    return _bad_file(file, line, "the text is not UTF-8", "save the file as UTF-8")


def _bad_file(file: str, line: int, message: str, remedy: str) -> BadSpecError:
    from corral.domain.spec_problems import Problem, bad_spec

    return bad_spec([Problem(file=file, line=line, key="file", message=message, remedy=remedy)])
