"""What Corral costs, side by side with its peers: every result is a ratio of measurements taken in turns in one run.

    ./script/bench            everything, as a table
    python -m bench --help    the same without the set-up, with options

A time in milliseconds says more about the machine and its mood than about the program; a ratio of two times that were
taken in turns survives both. docs/benchmarks.md explains the method and shows a run.
"""
