"""The C API's headers that go with a release, and the shared library of the wheel that is pinned."""

import ctypes
import re
from pathlib import Path

import onnxruntime

from app.models.export import release

HEADER = Path(release.__file__).parent / "native" / "onnxruntime" / "onnxruntime_c_api.h"
LIBRARY = Path(onnxruntime.__file__).parent / "capi" / f"libonnxruntime.so.{onnxruntime.__version__}"


class ApiBase(ctypes.Structure):
    """``OrtApiBase``: what every ONNX Runtime hands out, whatever its version."""

    _fields_ = (
        ("get_api", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)),
        ("get_version_string", ctypes.CFUNCTYPE(ctypes.c_char_p)),
    )


def api_base() -> ApiBase:
    get = ctypes.CDLL(str(LIBRARY)).OrtGetApiBase
    get.restype = ctypes.POINTER(ApiBase)
    base: ApiBase = get().contents
    return base


def header_version() -> int:
    found = re.search(r"^#define ORT_API_VERSION (\d+)$", HEADER.read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1])


def test_the_pinned_library_speaks_the_api_of_the_headers() -> None:
    base = api_base()
    assert base.get_version_string() == onnxruntime.__version__.encode()
    assert base.get_api(header_version())


def test_a_library_answers_for_no_api_that_is_newer_than_itself() -> None:
    newest = int(onnxruntime.__version__.split(".")[1])
    assert api_base().get_api(newest)
    assert not api_base().get_api(newest + 1)
    assert header_version() <= newest
