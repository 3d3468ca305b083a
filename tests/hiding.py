"""Hides modules in a process, as if they were not installed."""

from typing import Final

HIDE: Final = """
import sys

hidden = set(sys.argv[1].split(","))

class Without:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in hidden else self.finder.find_spec(name, path, target)

sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
"""
"""Begin of a program whose first word names the modules, with commas between."""
