from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Command(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    COMMAND_STEP: _ClassVar[Command]
    COMMAND_RESET: _ClassVar[Command]
    COMMAND_QUIT: _ClassVar[Command]
COMMAND_STEP: Command
COMMAND_RESET: Command
COMMAND_QUIT: Command

class Envelope(_message.Message):
    __slots__ = ("header", "from_game", "to_game")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    FROM_GAME_FIELD_NUMBER: _ClassVar[int]
    TO_GAME_FIELD_NUMBER: _ClassVar[int]
    header: Header
    from_game: FromGame
    to_game: ToGame
    def __init__(self, header: _Optional[_Union[Header, _Mapping]] = ..., from_game: _Optional[_Union[FromGame, _Mapping]] = ..., to_game: _Optional[_Union[ToGame, _Mapping]] = ...) -> None: ...

class Header(_message.Message):
    __slots__ = ("status",)
    STATUS_FIELD_NUMBER: _ClassVar[int]
    status: int
    def __init__(self, status: _Optional[int] = ...) -> None: ...

class FromGame(_message.Message):
    __slots__ = ("frame", "introduction")
    FRAME_FIELD_NUMBER: _ClassVar[int]
    INTRODUCTION_FIELD_NUMBER: _ClassVar[int]
    frame: Frame
    introduction: Introduction
    def __init__(self, frame: _Optional[_Union[Frame, _Mapping]] = ..., introduction: _Optional[_Union[Introduction, _Mapping]] = ...) -> None: ...

class ToGame(_message.Message):
    __slots__ = ("orders", "welcome")
    ORDERS_FIELD_NUMBER: _ClassVar[int]
    WELCOME_FIELD_NUMBER: _ClassVar[int]
    orders: Orders
    welcome: Welcome
    def __init__(self, orders: _Optional[_Union[Orders, _Mapping]] = ..., welcome: _Optional[_Union[Welcome, _Mapping]] = ...) -> None: ...

class Introduction(_message.Message):
    __slots__ = ("name", "communication_version", "behaviors", "package_version")
    NAME_FIELD_NUMBER: _ClassVar[int]
    COMMUNICATION_VERSION_FIELD_NUMBER: _ClassVar[int]
    BEHAVIORS_FIELD_NUMBER: _ClassVar[int]
    PACKAGE_VERSION_FIELD_NUMBER: _ClassVar[int]
    name: str
    communication_version: str
    behaviors: _containers.RepeatedCompositeFieldContainer[Behavior]
    package_version: str
    def __init__(self, name: _Optional[str] = ..., communication_version: _Optional[str] = ..., behaviors: _Optional[_Iterable[_Union[Behavior, _Mapping]]] = ..., package_version: _Optional[str] = ...) -> None: ...

class Welcome(_message.Message):
    __slots__ = ("seed", "communication_version", "package_version", "capabilities", "areas")
    SEED_FIELD_NUMBER: _ClassVar[int]
    COMMUNICATION_VERSION_FIELD_NUMBER: _ClassVar[int]
    PACKAGE_VERSION_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    AREAS_FIELD_NUMBER: _ClassVar[int]
    seed: int
    communication_version: str
    package_version: str
    capabilities: Capabilities
    areas: int
    def __init__(self, seed: _Optional[int] = ..., communication_version: _Optional[str] = ..., package_version: _Optional[str] = ..., capabilities: _Optional[_Union[Capabilities, _Mapping]] = ..., areas: _Optional[int] = ...) -> None: ...

class Capabilities(_message.Message):
    __slots__ = ("base", "joined_pngs", "channel_mapping", "hybrid_actions")
    BASE_FIELD_NUMBER: _ClassVar[int]
    JOINED_PNGS_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_MAPPING_FIELD_NUMBER: _ClassVar[int]
    HYBRID_ACTIONS_FIELD_NUMBER: _ClassVar[int]
    base: bool
    joined_pngs: bool
    channel_mapping: bool
    hybrid_actions: bool
    def __init__(self, base: _Optional[bool] = ..., joined_pngs: _Optional[bool] = ..., channel_mapping: _Optional[bool] = ..., hybrid_actions: _Optional[bool] = ...) -> None: ...

class Behavior(_message.Message):
    __slots__ = ("name", "action_spec")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ACTION_SPEC_FIELD_NUMBER: _ClassVar[int]
    name: str
    action_spec: ActionSpec
    def __init__(self, name: _Optional[str] = ..., action_spec: _Optional[_Union[ActionSpec, _Mapping]] = ...) -> None: ...

class ActionSpec(_message.Message):
    __slots__ = ("continuous_actions", "discrete_actions", "discrete_branch_sizes")
    CONTINUOUS_ACTIONS_FIELD_NUMBER: _ClassVar[int]
    DISCRETE_ACTIONS_FIELD_NUMBER: _ClassVar[int]
    DISCRETE_BRANCH_SIZES_FIELD_NUMBER: _ClassVar[int]
    continuous_actions: int
    discrete_actions: int
    discrete_branch_sizes: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, continuous_actions: _Optional[int] = ..., discrete_actions: _Optional[int] = ..., discrete_branch_sizes: _Optional[_Iterable[int]] = ...) -> None: ...

class Frame(_message.Message):
    __slots__ = ("agents",)
    class AgentsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Agents
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Agents, _Mapping]] = ...) -> None: ...
    AGENTS_FIELD_NUMBER: _ClassVar[int]
    agents: _containers.MessageMap[str, Agents]
    def __init__(self, agents: _Optional[_Mapping[str, Agents]] = ...) -> None: ...

class Agents(_message.Message):
    __slots__ = ("agents",)
    AGENTS_FIELD_NUMBER: _ClassVar[int]
    agents: _containers.RepeatedCompositeFieldContainer[Agent]
    def __init__(self, agents: _Optional[_Iterable[_Union[Agent, _Mapping]]] = ...) -> None: ...

class Agent(_message.Message):
    __slots__ = ("reward", "done", "max_step_reached", "id", "action_mask", "observations", "group_reward")
    REWARD_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    MAX_STEP_REACHED_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    ACTION_MASK_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    GROUP_REWARD_FIELD_NUMBER: _ClassVar[int]
    reward: float
    done: bool
    max_step_reached: bool
    id: int
    action_mask: _containers.RepeatedScalarFieldContainer[bool]
    observations: _containers.RepeatedCompositeFieldContainer[Observation]
    group_reward: float
    def __init__(self, reward: _Optional[float] = ..., done: _Optional[bool] = ..., max_step_reached: _Optional[bool] = ..., id: _Optional[int] = ..., action_mask: _Optional[_Iterable[bool]] = ..., observations: _Optional[_Iterable[_Union[Observation, _Mapping]]] = ..., group_reward: _Optional[float] = ...) -> None: ...

class Observation(_message.Message):
    __slots__ = ("shape", "compression", "pngs", "floats", "channel_mapping", "name")
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    COMPRESSION_FIELD_NUMBER: _ClassVar[int]
    PNGS_FIELD_NUMBER: _ClassVar[int]
    FLOATS_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_MAPPING_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    shape: _containers.RepeatedScalarFieldContainer[int]
    compression: int
    pngs: bytes
    floats: Floats
    channel_mapping: _containers.RepeatedScalarFieldContainer[int]
    name: str
    def __init__(self, shape: _Optional[_Iterable[int]] = ..., compression: _Optional[int] = ..., pngs: _Optional[bytes] = ..., floats: _Optional[_Union[Floats, _Mapping]] = ..., channel_mapping: _Optional[_Iterable[int]] = ..., name: _Optional[str] = ...) -> None: ...

class Floats(_message.Message):
    __slots__ = ("data",)
    DATA_FIELD_NUMBER: _ClassVar[int]
    data: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, data: _Optional[_Iterable[float]] = ...) -> None: ...

class Orders(_message.Message):
    __slots__ = ("actions", "command")
    class ActionsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Actions
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Actions, _Mapping]] = ...) -> None: ...
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    actions: _containers.MessageMap[str, Actions]
    command: Command
    def __init__(self, actions: _Optional[_Mapping[str, Actions]] = ..., command: _Optional[_Union[Command, str]] = ...) -> None: ...

class Actions(_message.Message):
    __slots__ = ("actions",)
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    actions: _containers.RepeatedCompositeFieldContainer[Action]
    def __init__(self, actions: _Optional[_Iterable[_Union[Action, _Mapping]]] = ...) -> None: ...

class Action(_message.Message):
    __slots__ = ("continuous", "discrete")
    CONTINUOUS_FIELD_NUMBER: _ClassVar[int]
    DISCRETE_FIELD_NUMBER: _ClassVar[int]
    continuous: _containers.RepeatedScalarFieldContainer[float]
    discrete: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, continuous: _Optional[_Iterable[float]] = ..., discrete: _Optional[_Iterable[int]] = ...) -> None: ...
