"""Apples: a game, who plays it, and what learns it."""
