"""The token that proves who asks for a session."""

import hashlib
import hmac


def sign(secret: str, key: str, time: str, session: str) -> str:
    """Returns the hex HMAC-SHA256 of key, time and session, a line each, under the key's secret.

    Args:
      secret: What client and service share.
      key: Names the secret; sent beside the token.
      time: Unix seconds as they stand in the request.
      session: Id as it stands in the request; empty where the request names none.
    """
    return hmac.new(secret.encode(), f"{key}\n{time}\n{session}".encode(), hashlib.sha256).hexdigest()
