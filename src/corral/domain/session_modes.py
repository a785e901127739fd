"""How somebody can share a terminal, and what a moderator may do: words alone, for commands that load no more."""

#: Sees, and can never type. Types. Types, and decides who else may.
OBSERVE, DRIVE, MODERATE = "observe", "drive", "moderate"
MODES = (OBSERVE, DRIVE, MODERATE)

#: What a moderator may do.
MUTE, UNMUTE, HANDOVER, RELEASE, END = "mute", "unmute", "handover", "release", "end"
ACTIONS = (MUTE, UNMUTE, HANDOVER, RELEASE, END)
