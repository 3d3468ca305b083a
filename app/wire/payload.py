"""Bodies to what agents read, and agents' answers to bodies: JSON, bytes or the user's own protobuf messages."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, Literal, Protocol, get_args

from google.protobuf.message import DecodeError, EncodeError, Message
from pydantic import BaseModel

from app.errors import AgentError, BadPayloadError, PluginError
from app.wire.field_merge import merge_fields
from app.wire.merge_patch import merge_patch
from app.wire.options import parse_options
from app.wire.steps import Body, Json, JsonBody, parse_json
from app.words import StepKind

Payload = Json | bytes | Message | BaseModel
"""What an agent reads and writes: a JSON value, bytes or a protobuf message, as its codec says.

The options of a start are of the agent's own class where it declares one.
"""

CodecKind = Literal["json", "bytes", "proto"]
"""How an agent class declares its codec."""

Side = Literal["input", "output"]
"""What comes, or what is answered."""

CODECS_KEPT: Final = 256
"""Agent classes whose codec is remembered: far more than one service has."""

_NO_JSON: Final = (bytes, Message, BaseModel)

_SHOWN: Final = 20
"""Bytes of a wrong body that a message shows."""


class Codec(Protocol):
    """Translates the bodies of one agent class."""

    def decode(self, body: Body, kind: StepKind) -> Payload:
        """Returns the body of a step as the agent reads it.

        Raises:
          BadPayloadError: It is none of this codec's.
        """

    def encode(self, payload: Payload, kind: StepKind) -> Body:
        """Returns the agent's answer to a step as a body.

        Raises:
          AgentError: It is not of a type that this codec can send.
        """

    def merge(self, base: Payload, difference: Payload) -> Payload:
        """Returns a new payload: the base with the difference applied; the base stays as it is.

        Raises:
          BadPayloadError: This codec has no differences, or they do not fit the base.
        """


class JsonCodec:
    """Payloads are parsed JSON values; differences are JSON Merge Patches."""

    def decode(self, body: Body, kind: StepKind) -> Payload:
        """Returns the JSON value of a body; None where it is empty."""
        return body.value if isinstance(body, JsonBody) else parse_json(body)

    def encode(self, payload: Payload, kind: StepKind) -> Body:
        """Returns the answer as a JSON body; what lies inside it is looked at when it is sent."""
        if payload is not None and not isinstance(payload, dict | list | str | int | float):
            raise _wrong_answer(payload, kind, "a JSON value (dict, list, str, int, float, bool or None)")
        return JsonBody(payload)

    def merge(self, base: Payload, difference: Payload) -> Payload:
        """Returns the base after a JSON Merge Patch."""
        if isinstance(base, _NO_JSON) or isinstance(difference, _NO_JSON):
            raise BadPayloadError(f"a difference between {_type_name(base)} and {_type_name(difference)} is no JSON")
        return merge_patch(base, difference)


class BytesCodec:
    """Payloads are the bytes of the body as they came; there are no differences."""

    def decode(self, body: Body, kind: StepKind) -> Payload:
        """Returns the bytes of a body."""
        return _bytes_of(body, "bytes")

    def encode(self, payload: Payload, kind: StepKind) -> Body:
        """Returns the answer as it is; None is sent as no bytes."""
        if payload is None:
            return b""
        if not isinstance(payload, bytes):
            raise _wrong_answer(payload, kind, "bytes or None")
        return payload

    def merge(self, base: Payload, difference: Payload) -> Payload:
        """Raises: nothing is known about the bytes."""
        raise BadPayloadError("this agent reads bytes, which have no differences; send the whole body")


class ProtoCodec:
    """Payloads are the user's messages; a kind of step for which none is named is JSON. Differences merge by field."""

    def __init__(self, inputs: Mapping[StepKind, type[Message]], outputs: Mapping[StepKind, type[Message]]) -> None:
        self._inputs = dict(inputs)
        self._outputs = dict(outputs)
        self._json = JsonCodec()

    def decode(self, body: Body, kind: StepKind) -> Payload:
        """Returns the message that the body holds."""
        wanted = self._inputs.get(kind)
        if wanted is None:
            return self._json.decode(body, kind)
        name = wanted.DESCRIPTOR.full_name
        raw = _bytes_of(body, f"the protobuf message {name}")
        try:
            return wanted.FromString(raw)
        except DecodeError as error:
            shown = f"{len(raw)} bytes, which begin with {raw[:_SHOWN].hex(' ')}"
            raise BadPayloadError(f"the body of a {kind} is no {name}: {error}; got {shown}") from error

    def encode(self, payload: Payload, kind: StepKind) -> Body:
        """Returns the message's bytes."""
        wanted = self._outputs.get(kind)
        if wanted is None:
            return self._json.encode(payload, kind)
        if not isinstance(payload, wanted):
            raise _wrong_answer(payload, kind, f"a message {wanted.DESCRIPTOR.full_name}")
        try:
            return payload.SerializeToString()
        except EncodeError as error:
            raise AgentError(f"the agent's {wanted.DESCRIPTOR.full_name} cannot be sent: {error}") from error

    def message(self, kind: StepKind, side: Side) -> type[Message] | None:
        """Returns the class of the bodies of a kind of step; None where they are JSON."""
        return (self._inputs if side == "input" else self._outputs).get(kind)

    def merge(self, base: Payload, difference: Payload) -> Payload:
        """Returns the base with the fields that the difference has."""
        if not isinstance(base, Message):
            return self._json.merge(base, difference)
        if not isinstance(difference, type(base)):
            raise BadPayloadError(
                f"a difference to a {_type_name(base)} is one as well, got a {_type_name(difference)}"
            )
        return merge_fields(base, difference)


class CodecWithOptions:
    """Another codec, but for starts, whose body is checked against the options that the agent class declares."""

    def __init__(self, codec: Codec, options: type[BaseModel]) -> None:
        self._options = options
        self._codec = codec
        self.encode = codec.encode
        self.merge = codec.merge

    def decode(self, body: Body, kind: StepKind) -> Payload:
        """Returns the options of a start, and what the other codec reads in any other body."""
        payload = self._codec.decode(body, kind)
        return parse_options(self._options, payload) if kind is StepKind.START else payload


@lru_cache(maxsize=CODECS_KEPT)
def codec_of(agent_class: type[object]) -> Codec:
    """Returns the codec that an agent class declares.

    It is told by the class attribute ``codec``: ``json`` (also where it is missing), ``bytes`` or ``proto``. With
    ``proto`` the attributes ``tick_input`` and ``tick_output`` name message classes, and so may ``start_input``,
    ``start_output``, ``stop_input`` and ``stop_output``; a payload without a class is JSON. The attribute ``options``
    may name a pydantic class, which the body of a start, always JSON then, must fit.

    Raises:
      PluginError: There is no such codec, or one of the classes is missing or is none.
    """
    codec, options = bare_codec(agent_class), getattr(agent_class, "options", None)
    if options is None:
        return codec
    if not (isinstance(options, type) and issubclass(options, BaseModel)):
        raise PluginError(f"{agent_class.__qualname__}.options is {options!r}; allowed is a pydantic model class")
    if getattr(agent_class, "start_input", None) is not None:
        raise PluginError(f"{agent_class.__qualname__} declares options and start_input; allowed is one of them")
    return CodecWithOptions(codec, options)


def bare_codec(agent_class: type[object]) -> Codec:
    """Returns the codec that an agent class declares, without its options; see ``codec_of``.

    Raises:
      PluginError: There is no such codec, or one of the classes is missing or is none.
    """
    kind = getattr(agent_class, "codec", "json")
    if kind == "json":
        return JsonCodec()
    if kind == "bytes":
        return BytesCodec()
    if kind == "proto":
        return ProtoCodec(_messages(agent_class, "input"), _messages(agent_class, "output"))
    allowed = ", ".join(get_args(CodecKind))
    raise PluginError(f"{agent_class.__qualname__}.codec is {kind!r}; allowed are {allowed}")


def _messages(agent_class: type[object], side: Side) -> dict[StepKind, type[Message]]:
    found: dict[StepKind, type[Message]] = {}
    for kind in (StepKind.START, StepKind.TICK, StepKind.STOP):
        name = f"{kind}_{side}"
        message = getattr(agent_class, name, None)
        if message is None and kind is not StepKind.TICK:
            continue
        if not (isinstance(message, type) and issubclass(message, Message)):
            raise PluginError(f"{agent_class.__qualname__}.{name} is {message!r}; allowed is a protobuf message class")
        found[kind] = message
    return {**found, StepKind.AUTO: found[StepKind.TICK]}


def _bytes_of(body: Body, wanted: str) -> bytes:
    if isinstance(body, bytes):
        return body
    if body.value is None:
        return b""
    raise BadPayloadError(
        f"this agent reads {wanted}, got a JSON {type(body.value).__name__}; send the bytes themselves, as body_b64 "
        "where they stand in JSON"
    )


def _wrong_answer(payload: object, kind: StepKind, allowed: str) -> AgentError:
    return AgentError(f"the agent answered a {kind} with a {_type_name(payload)}; allowed is {allowed}")


def _type_name(value: object) -> str:
    if isinstance(value, Message):
        return str(value.DESCRIPTOR.full_name)
    return type(value).__name__
