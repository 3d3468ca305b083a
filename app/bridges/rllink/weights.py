"""The newest weights of a model, under the names that RLlib's clients know."""

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import httpx
import numpy as np
import orjson
from numpy.typing import NDArray

from app.bridges.errors import BridgeError
from app.client.signer import Signer
from app.errors import ConfigError
from app.types import Version

NOT_MODIFIED: Final = 304
NOT_FOUND: Final = 404
REQUEST_S: Final = 60.0
AGAIN_S: Final = 0.5
"""Between two looks for the first weights."""

Names = Mapping[str, str | float | list[Any]]
"""What each parameter of the client's module is: the name of one of ours, or a constant."""
Parameters = dict[str, NDArray[np.generic]]


def read_names(path: Path | None) -> Names | None:
    """Returns the names in a JSON file; None: the client's module has our names.

    Raises:
      ConfigError: It cannot be read, or is not such an object.
    """
    if path is None:
        return None
    try:
        names = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        raise ConfigError(f"the names in {path} cannot be read: {error}") from error
    if not isinstance(names, dict) or not names:
        raise ConfigError(f"{path} holds a {type(names).__name__}; allowed is an object: theirs to ours, or a constant")
    return names


def renamed(arrays: Parameters, names: Names | None) -> Parameters:
    """Returns the client's parameters.

    Raises:
      BridgeError: A name is none of ours.
    """
    if names is None:
        return arrays
    missing = sorted({str(ours) for ours in names.values() if isinstance(ours, str)} - arrays.keys())
    if missing:
        raise BridgeError(f"the model has no {', '.join(missing)}; allowed are {', '.join(sorted(arrays))}")
    return {
        theirs: arrays[ours] if isinstance(ours, str) else np.atleast_1d(np.asarray(ours, np.float32))
        for theirs, ours in names.items()
    }


class NewestWeights:
    """Fetches weights from the game port, each version once."""

    def __init__(self, url: str, model: str, names: Names | None, wait_s: float, signer: Signer | None = None) -> None:
        """Fetches nothing yet.

        Args:
          url: The service's game port.
          model: Whose weights.
          names: The client's parameters; None: they have our names.
          wait_s: Seconds to wait for the first weights of a trainer.
          signer: Makes the headers of a service with keys; None where there are none.
        """
        self._client = httpx.AsyncClient(base_url=url, timeout=REQUEST_S)
        self._model, self._names, self._wait_s = model, names, wait_s
        self._signer = signer
        self._tag = ""
        self._known: tuple[Version, Parameters] | None = None
        self._turn = asyncio.Lock()

    async def newest(self) -> tuple[Version, Parameters]:
        """Returns the newest version and its parameters.

        Raises:
          BridgeError: There are none in time, or they cannot be read.
        """
        end_s = time.monotonic() + self._wait_s
        async with self._turn:
            while True:
                if (found := await self._fetch()) is not None:
                    return found
                if time.monotonic() >= end_s:
                    raise BridgeError(
                        f"the service has no published weights of {self._model!r} within {self._wait_s:g} s: start its "
                        "trainer, or take another --model"
                    )
                await asyncio.sleep(AGAIN_S)

    async def close(self) -> None:
        """Closes the connection."""
        await self._client.aclose()

    async def _fetch(self) -> tuple[Version, Parameters] | None:
        from safetensors import SafetensorError  # noqa: PLC0415  # Of the extra.
        from safetensors.numpy import load  # noqa: PLC0415

        try:
            signed = {} if self._signer is None else self._signer.headers("")
            headers = {"If-None-Match": self._tag} | signed
            reply = await self._client.get(f"/weights/{self._model}/latest", headers=headers)
        except httpx.HTTPError as error:
            raise BridgeError(f"the weights of {self._model!r} cannot be fetched: {error!r}") from error
        if reply.status_code == NOT_MODIFIED and self._known is not None:
            return self._known
        if reply.status_code == NOT_FOUND:
            return None
        if not reply.is_success:
            raise BridgeError(f"the service answered {reply.status_code} for weights: {reply.text[:300]}")
        try:
            version = Version.parse(reply.headers.get("policy_version", ""))
            arrays = load(reply.content)
        except (ValueError, SafetensorError) as error:
            raise BridgeError(f"the service's weights cannot be read: {error}") from error
        self._known, self._tag = (version, renamed(arrays, self._names)), reply.headers.get("etag", "")
        return self._known
