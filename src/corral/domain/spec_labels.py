"""The `labels` of an agent in a `corral.toml`: what it can do, for tasks that ask for that."""

from corral.domain.errors import WrongUseError
from corral.domain.spec_table import Table, type_word
from corral.domain.task_records import check_labels

_EXAMPLE = 'labels = ["python", "gpu"]'


def read_labels(table: Table) -> tuple[str, ...]:
    """The labels, sorted; none if they are wrong, which is reported."""
    said = table.take("labels", list, _EXAMPLE)
    labels: list[str] = []
    for number, label in enumerate(said or (), 1):
        if not isinstance(label, str):
            table.wrong(
                "labels", f"label {number} must be a string, not {type_word(type(label))}", f"such as {_EXAMPLE}"
            )
            return ()
        labels.append(label)
    try:
        check_labels(labels)
    except WrongUseError as error:
        table.wrong("labels", error.message, error.remedy)
        return ()
    return tuple(sorted(set(labels)))
