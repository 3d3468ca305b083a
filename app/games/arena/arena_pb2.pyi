from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Side(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SIDE_PLAYER: _ClassVar[Side]
    SIDE_BOSS: _ClassVar[Side]
SIDE_PLAYER: Side
SIDE_BOSS: Side

class Skill(_message.Message):
    __slots__ = ("reach", "power", "cooldown_ticks", "heals")
    REACH_FIELD_NUMBER: _ClassVar[int]
    POWER_FIELD_NUMBER: _ClassVar[int]
    COOLDOWN_TICKS_FIELD_NUMBER: _ClassVar[int]
    HEALS_FIELD_NUMBER: _ClassVar[int]
    reach: int
    power: int
    cooldown_ticks: int
    heals: bool
    def __init__(self, reach: _Optional[int] = ..., power: _Optional[int] = ..., cooldown_ticks: _Optional[int] = ..., heals: _Optional[bool] = ...) -> None: ...

class Entity(_message.Message):
    __slots__ = ("id", "side", "x", "y", "health", "max_health", "waits_ticks")
    ID_FIELD_NUMBER: _ClassVar[int]
    SIDE_FIELD_NUMBER: _ClassVar[int]
    X_FIELD_NUMBER: _ClassVar[int]
    Y_FIELD_NUMBER: _ClassVar[int]
    HEALTH_FIELD_NUMBER: _ClassVar[int]
    MAX_HEALTH_FIELD_NUMBER: _ClassVar[int]
    WAITS_TICKS_FIELD_NUMBER: _ClassVar[int]
    id: int
    side: Side
    x: int
    y: int
    health: int
    max_health: int
    waits_ticks: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, id: _Optional[int] = ..., side: _Optional[_Union[Side, str]] = ..., x: _Optional[int] = ..., y: _Optional[int] = ..., health: _Optional[int] = ..., max_health: _Optional[int] = ..., waits_ticks: _Optional[_Iterable[int]] = ...) -> None: ...

class Control(_message.Message):
    __slots__ = ("entity", "legal")
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    LEGAL_FIELD_NUMBER: _ClassVar[int]
    entity: int
    legal: _containers.RepeatedScalarFieldContainer[bool]
    def __init__(self, entity: _Optional[int] = ..., legal: _Optional[_Iterable[bool]] = ...) -> None: ...

class TickInput(_message.Message):
    __slots__ = ("tick", "width", "height", "skills", "entities", "controls", "reward")
    TICK_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_FIELD_NUMBER: _ClassVar[int]
    SKILLS_FIELD_NUMBER: _ClassVar[int]
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    CONTROLS_FIELD_NUMBER: _ClassVar[int]
    REWARD_FIELD_NUMBER: _ClassVar[int]
    tick: int
    width: int
    height: int
    skills: _containers.RepeatedCompositeFieldContainer[Skill]
    entities: _containers.RepeatedCompositeFieldContainer[Entity]
    controls: _containers.RepeatedCompositeFieldContainer[Control]
    reward: float
    def __init__(self, tick: _Optional[int] = ..., width: _Optional[int] = ..., height: _Optional[int] = ..., skills: _Optional[_Iterable[_Union[Skill, _Mapping]]] = ..., entities: _Optional[_Iterable[_Union[Entity, _Mapping]]] = ..., controls: _Optional[_Iterable[_Union[Control, _Mapping]]] = ..., reward: _Optional[float] = ...) -> None: ...

class Command(_message.Message):
    __slots__ = ("entity", "action")
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    entity: int
    action: int
    def __init__(self, entity: _Optional[int] = ..., action: _Optional[int] = ...) -> None: ...

class TickOutput(_message.Message):
    __slots__ = ("commands",)
    COMMANDS_FIELD_NUMBER: _ClassVar[int]
    commands: _containers.RepeatedCompositeFieldContainer[Command]
    def __init__(self, commands: _Optional[_Iterable[_Union[Command, _Mapping]]] = ...) -> None: ...

class StopInput(_message.Message):
    __slots__ = ("last", "terminated", "truncated")
    LAST_FIELD_NUMBER: _ClassVar[int]
    TERMINATED_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    last: TickInput
    terminated: bool
    truncated: bool
    def __init__(self, last: _Optional[_Union[TickInput, _Mapping]] = ..., terminated: _Optional[bool] = ..., truncated: _Optional[bool] = ...) -> None: ...

class StopOutput(_message.Message):
    __slots__ = ("ticks", "players_lost", "bosses_lost", "actions")
    TICKS_FIELD_NUMBER: _ClassVar[int]
    PLAYERS_LOST_FIELD_NUMBER: _ClassVar[int]
    BOSSES_LOST_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    ticks: int
    players_lost: int
    bosses_lost: int
    actions: int
    def __init__(self, ticks: _Optional[int] = ..., players_lost: _Optional[int] = ..., bosses_lost: _Optional[int] = ..., actions: _Optional[int] = ...) -> None: ...
