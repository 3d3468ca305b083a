"""Why a running Ray cluster lets a command not in."""

from typing import Final

_ASKED: Final = (
    "the Ray cluster lets nobody in: it asks for a token, and none was sent that it knows: export RAY_AUTH_MODE=token, "
    "with the cluster's token in ~/.ray/auth_token or RAY_AUTH_TOKEN"
)
_REFUSED: Final = ("InvalidAuthToken", "AuthenticationError", "authentication token")


def refusal(error: BaseException) -> str | None:
    """Returns what to tell the user where a connection failed for want of a token; None where that was not the reason.

    Ray says so in what caused the error alone.
    """
    found: BaseException | None = error
    while found is not None:
        if any(word in f"{type(found).__name__}: {found}" for word in _REFUSED):
            return _ASKED
        found = found.__cause__ or found.__context__
    return None
