"""Commands in terms of tools."""

import pytest

from corral.mcp.terms import in_terms_of_tools

P = "p3f09ac12de"


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (f"corral proc kill {P} ends them", f"process_kill with process_id={P} ends them"),
        ("corral proc ls shows those there are", "process_list shows those there are"),
        ("`corral proc ls` shows what there is", "process_list shows what there is"),
        ("corral proc ls shows them, corral proc kill ends one", "process_list shows them, process_kill ends one"),
        ("start it with --stdin", "start it with stdin=true"),
        # These a model has no tool for: somebody else can do it.
        ("raise the number, then corral up", "raise the number, then corral up"),
        ("corral daemon start", "corral daemon start"),
        ("corral procedure", "corral procedure"),
        ("corral execute", "corral execute"),
    ],
)
def test_what_a_model_can_do(said: str, meant: str) -> None:
    assert in_terms_of_tools(said) == meant
