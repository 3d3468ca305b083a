from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    KIND_TICK: _ClassVar[Kind]
    KIND_START: _ClassVar[Kind]
    KIND_STOP: _ClassVar[Kind]
    KIND_AUTO: _ClassVar[Kind]

class Purpose(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PURPOSE_DEFAULT: _ClassVar[Purpose]
    PURPOSE_TRAIN: _ClassVar[Purpose]
    PURPOSE_EVALUATE: _ClassVar[Purpose]
    PURPOSE_PLAY: _ClassVar[Purpose]
KIND_TICK: Kind
KIND_START: Kind
KIND_STOP: Kind
KIND_AUTO: Kind
PURPOSE_DEFAULT: Purpose
PURPOSE_TRAIN: Purpose
PURPOSE_EVALUATE: Purpose
PURPOSE_PLAY: Purpose

class Credentials(_message.Message):
    __slots__ = ("key", "time", "token")
    KEY_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    key: str
    time: str
    token: str
    def __init__(self, key: _Optional[str] = ..., time: _Optional[str] = ..., token: _Optional[str] = ...) -> None: ...

class Step(_message.Message):
    __slots__ = ("session", "kind", "seq", "body", "deadline_ms", "purpose", "delta", "idempotency_key")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_MS_FIELD_NUMBER: _ClassVar[int]
    PURPOSE_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    session: str
    kind: Kind
    seq: int
    body: bytes
    deadline_ms: int
    purpose: Purpose
    delta: bool
    idempotency_key: str
    def __init__(self, session: _Optional[str] = ..., kind: _Optional[_Union[Kind, str]] = ..., seq: _Optional[int] = ..., body: _Optional[bytes] = ..., deadline_ms: _Optional[int] = ..., purpose: _Optional[_Union[Purpose, str]] = ..., delta: _Optional[bool] = ..., idempotency_key: _Optional[str] = ...) -> None: ...

class Batch(_message.Message):
    __slots__ = ("steps",)
    STEPS_FIELD_NUMBER: _ClassVar[int]
    steps: _containers.RepeatedCompositeFieldContainer[Step]
    def __init__(self, steps: _Optional[_Iterable[_Union[Step, _Mapping]]] = ...) -> None: ...

class Request(_message.Message):
    __slots__ = ("step", "batch", "request_id", "protocol", "credentials")
    STEP_FIELD_NUMBER: _ClassVar[int]
    BATCH_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    CREDENTIALS_FIELD_NUMBER: _ClassVar[int]
    step: Step
    batch: Batch
    request_id: int
    protocol: int
    credentials: Credentials
    def __init__(self, step: _Optional[_Union[Step, _Mapping]] = ..., batch: _Optional[_Union[Batch, _Mapping]] = ..., request_id: _Optional[int] = ..., protocol: _Optional[int] = ..., credentials: _Optional[_Union[Credentials, _Mapping]] = ...) -> None: ...

class Error(_message.Message):
    __slots__ = ("code", "message", "retry_after_s")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_S_FIELD_NUMBER: _ClassVar[int]
    code: str
    message: str
    retry_after_s: int
    def __init__(self, code: _Optional[str] = ..., message: _Optional[str] = ..., retry_after_s: _Optional[int] = ...) -> None: ...

class Answer(_message.Message):
    __slots__ = ("session", "seq", "body", "json", "policy_version", "resumed_at", "endpoint", "error")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    POLICY_VERSION_FIELD_NUMBER: _ClassVar[int]
    RESUMED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDPOINT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    session: str
    seq: int
    body: bytes
    json: bool
    policy_version: str
    resumed_at: int
    endpoint: str
    error: Error
    def __init__(self, session: _Optional[str] = ..., seq: _Optional[int] = ..., body: _Optional[bytes] = ..., json: _Optional[bool] = ..., policy_version: _Optional[str] = ..., resumed_at: _Optional[int] = ..., endpoint: _Optional[str] = ..., error: _Optional[_Union[Error, _Mapping]] = ...) -> None: ...

class AnswerBatch(_message.Message):
    __slots__ = ("answers",)
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    answers: _containers.RepeatedCompositeFieldContainer[Answer]
    def __init__(self, answers: _Optional[_Iterable[_Union[Answer, _Mapping]]] = ...) -> None: ...

class Reply(_message.Message):
    __slots__ = ("answer", "batch", "error", "request_id", "protocol")
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    BATCH_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    answer: Answer
    batch: AnswerBatch
    error: Error
    request_id: int
    protocol: int
    def __init__(self, answer: _Optional[_Union[Answer, _Mapping]] = ..., batch: _Optional[_Union[AnswerBatch, _Mapping]] = ..., error: _Optional[_Union[Error, _Mapping]] = ..., request_id: _Optional[int] = ..., protocol: _Optional[int] = ...) -> None: ...
