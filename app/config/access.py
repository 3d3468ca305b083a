"""Who may play on an actor's port, and what its keys file holds."""

import ipaddress
import re
from pathlib import Path
from typing import Annotated, Final, Self

from pydantic import Field, SecretStr, StringConstraints, field_validator, model_validator

from app.config.base import Config
from app.types import Purpose

GUESSABLE_BELOW: Final = 16
"""Characters below which a secret is refused: 16 random letters and digits are 95 bits."""

_KEY = re.compile(r"[!-~]{1,256}")

Origin = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9+.-]*://[^/A-Z\s]+$")]
"""Scheme, host and, where it is not the scheme's own, port of a web page, as browsers send it: in small letters."""


class AccessConfig(Config):
    """Keys that game cores must send; secrets stand in the file or the environment alone, never here."""

    keys_file: str | None = None
    """YAML or JSON list of keys, as an absolute path or one that begins with ``~``; it must lie on each node where
    replicas run, and is read again when it changes. Null reads no file."""

    keys_env: str | None = Field(None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """Environment variable of the replicas that holds the same list as JSON; null reads none."""

    require_token: bool = False
    """Every key must have a secret, and every step a token; false leaves it to each key."""

    allow_open: bool = False
    """Let everybody play who reaches an address that other machines reach too."""

    origins: tuple[Origin, ...] | None = None
    """Origins of the web pages whose scripts may open a WebSocket, such as ``https://play.example``; null allows any.
    Game cores that are no browser send no ``Origin`` and are not asked for one."""

    @property
    def guarded(self) -> bool:
        """Whether a key is needed."""
        return self.keys_file is not None or self.keys_env is not None

    @field_validator("keys_file")
    @classmethod
    def _is_absolute(cls, path: str | None) -> str | None:
        if path is not None and not (Path(path).is_absolute() or path.startswith("~")):
            raise ValueError(f"got {path!r}, allowed: an absolute path, since replicas run in folders of their own")
        return path

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.keys_file is not None and self.keys_env is not None:
            raise ValueError("keys_file and keys_env are both set, allowed: one of them")
        if self.require_token and not self.guarded:
            raise ValueError("require_token is true and there are no keys, allowed: with keys_file or keys_env")
        return self


class QuotaConfig(Config):
    """What one key may use of each replica."""

    max_sessions: int | None = Field(None, ge=1)
    """Sessions open at once; null is no limit."""

    steps_per_s: float | None = Field(None, gt=0, allow_inf_nan=False)
    """Steps a second in the long run; null is no limit."""

    burst_steps: int | None = Field(None, ge=1)
    """Steps that may come at once after a pause; null means those of one second."""


class KeyConfig(Config):
    """One key: a client, or a team of clients."""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,63}$")]
    """What logs, metrics and messages call it; not a secret."""

    key: SecretStr
    """What clients send; a secret where it is enough alone."""

    secret: SecretStr | None = None
    """What tokens are signed with; null: the key alone is enough."""

    purposes: tuple[Purpose, ...] = Field(tuple(Purpose), min_length=1)
    """What its sessions may be played for."""

    require_token: bool | None = None
    """Whether each step needs a token; null: where there is a secret."""

    static_token: bool = False
    """Also take the token that signs neither time nor session, which never ends: for clients that cannot sign."""

    quota: QuotaConfig = QuotaConfig()

    admin: bool = False
    """Whether it opens the admin paths, such as ``/sessions``."""

    @property
    def needs_token(self) -> bool:
        """Whether each step needs a token."""
        return self.secret is not None if self.require_token is None else self.require_token

    @field_validator("key")
    @classmethod
    def _is_header_text(cls, key: SecretStr) -> SecretStr:
        if not _KEY.fullmatch(key.get_secret_value()):
            count = len(key.get_secret_value())
            raise ValueError(f"got {count} characters, allowed: 1 to 256 printable ASCII characters without spaces")
        return key

    @field_validator("secret")
    @classmethod
    def _is_long(cls, secret: SecretStr | None) -> SecretStr | None:
        if secret is not None and len(secret) < GUESSABLE_BELOW:
            raise ValueError(f"got {len(secret)} characters, allowed: at least {GUESSABLE_BELOW}")
        return secret

    @model_validator(mode="after")
    def _is_no_open_door(self) -> Self:
        if self.secret is None and (self.require_token or self.static_token):
            raise ValueError("got require_token or static_token without a secret, allowed: with one")
        if not self.needs_token and len(self.key) < GUESSABLE_BELOW:
            count = len(self.key)
            raise ValueError(
                f"got a key of {count} characters without tokens, allowed: at least {GUESSABLE_BELOW}, or a secret"
            )
        return self


def is_loopback(host: str) -> bool:
    """Returns whether only this machine reaches what listens on a host."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # A name: what it resolves to may change.
        return host == "localhost"
