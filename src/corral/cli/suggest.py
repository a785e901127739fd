"""“Did you mean …?” for a word that is not known. Loaded only when something is wrong already."""

from collections.abc import Sequence
from difflib import get_close_matches


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """A question that names the nearest known words, or an empty string where none is near."""
    near = get_close_matches(word, known, n=2, cutoff=0.6)
    if not near:
        near = [candidate for candidate in known if len(word) > 1 and candidate.startswith(word)][:2]
    return f"did you mean {' or '.join(near)}?" if near else ""
