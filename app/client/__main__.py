"""``python -m app.client`` is ``sparring simulate`` without the rest of the command line's imports."""

from app.client.commands import app

if __name__ == "__main__":
    app(prog_name="python -m app.client")
