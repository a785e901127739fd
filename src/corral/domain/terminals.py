"""What an agent can run in."""

#: A terminal of the team's tmux server; or none, and then it reads and writes pipes.
TMUX, NO_TERMINAL = "tmux", "none"
TERMINALS = (TMUX, NO_TERMINAL)
