"""Loads weights that somebody registered, and finds out whether they can be played."""

from typing import Any, Final

import numpy as np

from app.errors import ModelMismatchError, SparringError, VersionRefusedError
from app.models.engine import Engine
from app.models.engines import Network
from app.models.question import Prepared, decisions
from app.models.saved import SavedModel
from app.models.spec import ModelSpec
from app.types import Arrays, Version

WARM_UP_ROWS: Final = 2
"""Rows of the warm-up: two, so that a network that mixes rows up or answers for one alone is found out."""


def fitting_arrays(saved: SavedModel, network: Network) -> Arrays:
    """Returns the weights of a saved model that fits a network.

    Raises:
      VersionRefusedError: It is of another network.
    """
    from app.models.module import hash_of  # noqa: PLC0415  # Torch, which who only plans needs not.

    wanted = hash_of(network.build())
    if saved.spec_hash != wanted:
        raise VersionRefusedError(
            f"it was saved by {saved.factory} with the shapes {saved.spec_hash}; {network.factory} builds {wanted}"
        )
    return saved.arrays


def checked_engine(network: Network, version: Version, arrays: Arrays) -> Engine:
    """Returns an engine that has answered once; takes as long as the network's first pass, so not on an event loop.

    Raises:
      VersionRefusedError: The factory fails, the weights do not fit or are not finite, or the answer is not finite.
    """
    broken = sorted(name for name, array in arrays.items() if not np.isfinite(array).all())
    if broken:
        raise VersionRefusedError(f"its weights are not finite: {', '.join(broken)}")
    try:
        engine = network.make_engine()
        engine.swap(version, engine.build(arrays))
        warm_up(engine)
    except VersionRefusedError:
        raise
    except ModelMismatchError as error:
        raise VersionRefusedError(str(error)) from error
    except Exception as error:  # The user's factory or network may raise anything.
        told = str(error) if isinstance(error, SparringError) else f"{type(error).__name__}: {error}"
        raise VersionRefusedError(f"it does not answer: {told}") from error
    return engine


def warm_up(engine: Engine) -> None:
    """Asks an engine once about zeros, and does nothing where its answer is finite.

    Raises:
      VersionRefusedError: It is not.
    """
    spec = engine.spec
    inputs = [np.zeros((WARM_UP_ROWS, *leaf.shape), leaf.dtype) for leaf in spec.inputs.leaves]
    states = [np.zeros((WARM_UP_ROWS, *leaf.shape), leaf.dtype) for leaf in spec.states.leaves]
    answer = engine.forward(inputs, states, None)
    parts = ((spec.answers.paths, answer.outputs), (spec.states.paths, answer.states))
    broken = [
        path or "it"
        for paths, leaves in parts
        for path, leaf in zip(paths, leaves, strict=True)
        if not np.isfinite(leaf).all()
    ]
    if broken:
        raise VersionRefusedError(f"its answer to zeros is not finite: {', '.join(broken)}")
    if spec.is_policy:
        _decide(spec, answer.outputs, answer.states, engine.version)


def _decide(spec: ModelSpec, outputs: list[Any], states: list[Any], version: Version) -> None:
    """Does nothing where actions can be taken from an answer."""
    asked = [Prepared([], [], None, (), None)] * WARM_UP_ROWS
    for decision in decisions(spec, asked, outputs, states, version):
        if isinstance(decision, ValueError):
            raise VersionRefusedError(f"no action can be taken from its answer to zeros: {decision}") from decision
