"""What goes wrong between a foreign program and the service."""

from app.errors import SparringError


class BridgeError(SparringError):
    """The other side says what its protocol does not allow, or what a bridge cannot carry."""


class GameGoneError(BridgeError):
    """The other side has left, or says nothing any more."""
