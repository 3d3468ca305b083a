"""The bytes that the protocol page shows are those of the code."""

import re
from pathlib import Path

from app.types import StepKind
from app.wire.bray import BrayReader, encoded
from app.wire.frames import FrameReader
from app.wire.messages import read_request
from app.wire.steps import StepReply, StepRequest

PAGE = (Path(__file__).parents[2] / "docs/protocol.md").read_text(encoding="utf-8")


def shown(section: str, mark: str) -> bytes:
    """Returns the bytes of the first example of a section that go one way; words beside them are no hex."""
    example = PAGE[PAGE.index(f"## {section}") :].split("```text\n")[1].split("```")[0]
    lines = re.split(r"^(?=[<>] )", example, flags=re.MULTILINE)
    (text,) = [line[2:] for line in lines if line.startswith(mark)]
    return bytes.fromhex("".join(re.findall(r"(?<!\S)(?:[0-9a-f]{2})+(?!\S)", text)))


def test_the_example_of_brays_framing_is_right() -> None:
    (request,) = BrayReader(1000).feed(shown("Bray's TCP framing", ">"))
    assert request.step == StepRequest("g1", StepKind.TICK, b'{"obs": [1]}')
    assert encoded(StepReply("g1", b'{"action":1}', 1), request.time) == shown("Bray's TCP framing", "<")


def test_the_example_of_native_frames_is_right() -> None:
    (payload,) = FrameReader(1000).feed(shown("Native frames", ">"))
    request = read_request(payload)
    assert (request.request_id, request.content) == (7, StepRequest("g1", StepKind.TICK, b'{"o":1}', seq=3))
