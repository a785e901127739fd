"""The command that writes to somebody, for remedies that say whom to ask. Pure.

The hooks of git load this before every commit, so it loads nothing until it is called.
"""


def send_command(party: str) -> str:
    """What to type to send a message to an agent (TEAM/AGENT) or a person, with the text left open."""
    from corral.domain.msg_parties import shown

    return f"corral msg send {shown(party)} -m '…'"
