"""“Did you mean …?” for a word that is not known. Loaded only when something is wrong already."""

from collections.abc import Collection, Sequence
from difflib import get_close_matches


def did_you_mean(word: str, known: Sequence[str], *, rash: Collection[str] = ()) -> str:
    """A question that names the nearest known words, or an empty string where none is near.

    What is `rash` to do on a guess is named only for a slip of one letter.
    """
    offered = [candidate for candidate in known if candidate not in rash or is_a_slip(word, candidate)]
    near = get_close_matches(word, offered, n=2, cutoff=0.6)
    if not near:
        near = [candidate for candidate in offered if len(word) > 1 and candidate.startswith(word)][:2]
    return f"did you mean {' or '.join(near)}?" if near else ""


def is_a_slip(word: str, meant: str) -> bool:
    """True if one letter was left out, put in or mistaken, or two that stand side by side changed places."""
    begin = 0
    while begin < min(len(word), len(meant)) and word[begin] == meant[begin]:
        begin += 1
    typed, right = word[begin:], meant[begin:]
    changed_places = len(typed) > 1 and typed[:2] == right[1::-1] and typed[2:] == right[2:]
    return changed_places or typed[1:] == right[1:] or typed == right[1:] or typed[1:] == right
