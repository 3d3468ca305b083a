"""Comparison of secrets."""

import hmac


def same_secret(given: str, secret: str) -> bool:
    """Returns whether two secrets are equal, in a time that does not tell how far they agree."""
    return hmac.compare_digest(given.encode(), secret.encode())
