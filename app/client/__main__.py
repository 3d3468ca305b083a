"""``python -m app.client`` is ``sparring simulate`` without the rest of the command line's imports."""

import sys

from app.extras import missing
from app.startup import ends_at_once

if __name__ == "__main__":
    try:
        with ends_at_once():
            from app.client.commands import app
    except ImportError as error:
        sys.exit(missing("simulate", error))
    app(prog_name="python -m app.client")
