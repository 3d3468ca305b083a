"""``python -m app`` is ``sparring``."""

from app.cli import main

main()
