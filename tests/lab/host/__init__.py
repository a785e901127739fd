"""The outside of the lab: it builds the tree, boots machines from it and takes them away. Standard library only.

Nothing of this runs inside a machine, and nothing here knows Corral.
"""
