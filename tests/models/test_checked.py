from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.errors import VersionRefusedError
from app.models.checked import checked_engine, fitting_arrays
from app.models.engines import Network
from app.models.module import hash_of, to_arrays
from app.models.saved import SavedModel
from app.types import Version
from tests.small_policy import small_policy

NETWORK = Network("tests.small_policy:small_policy", {}, 0, Path())
VERSION = Version(0, 3)


def test_a_good_version_answers_under_its_number() -> None:
    assert checked_engine(NETWORK, VERSION, to_arrays(small_policy(1))).version == VERSION


def test_weights_that_are_not_finite_are_refused_by_name() -> None:
    arrays = to_arrays(small_policy())
    arrays["critic.bias"][:] = np.inf
    with pytest.raises(VersionRefusedError, match=r"not finite: critic\.bias"):
        checked_engine(NETWORK, VERSION, arrays)


def test_weights_of_other_shapes_are_refused() -> None:
    with pytest.raises(VersionRefusedError, match="do not fit"):
        checked_engine(NETWORK, VERSION, to_arrays(small_policy(inputs=3)))


def test_a_factory_that_fails_refuses_the_version() -> None:
    with pytest.raises(VersionRefusedError, match="does not answer"):
        checked_engine(replace(NETWORK, factory="tests.small_policy:broken_factory"), VERSION, {})


def test_a_model_of_another_network_is_refused() -> None:
    good = SavedModel("a:b", {}, hash_of(small_policy()), "1.0", to_arrays(small_policy()))
    assert fitting_arrays(good, NETWORK) is good.arrays
    with pytest.raises(VersionRefusedError, match="saved by a:b with the shapes 00"):
        fitting_arrays(SavedModel("a:b", {}, "00", "1.0", good.arrays), NETWORK)
