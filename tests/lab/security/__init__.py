"""Attacks on a shared server, each tried for real by who could try it, each failing, and told of where that can be."""
