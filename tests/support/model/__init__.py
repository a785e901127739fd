"""A model without a model: what it answers is written down. It makes real coding agents work without a key."""
