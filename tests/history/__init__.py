"""Histories in the manner of Jepsen: what concurrent clients asked and were told while daemon, clients and clock were
troubled, and pure checkers that find in it what must never happen. docs/howto/check-histories.md says how to run them.
"""
