"""Recorded games as files: written, found, read."""
