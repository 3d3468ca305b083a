"""Recorded games as pictures and pages."""
