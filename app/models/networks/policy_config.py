"""What a config says about a policy's network."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from app.config.base import Config
from app.models.networks.cnn import NATURE
from app.models.networks.mlp import Activation

Units = Annotated[int, Field(ge=1)]


class MlpConfig(Config):
    """All arrays of the observation, flattened one behind another, through layers that see everything."""

    kind: Literal["mlp"] = "mlp"

    hidden: tuple[Units, ...] = (64, 64)
    """Units of each layer; an empty list passes the numbers as they are."""

    activation: Activation = "tanh"

    orthogonal: bool = True
    """Orthogonal first weights; false: those of torch."""


class CnnConfig(Config):
    """An image, channels first, through convolutions."""

    kind: Literal["cnn"]

    filters: tuple[tuple[Units, Units, Units], ...] = NATURE
    """Channels, edge and stride of each layer."""

    units: Units = 512
    """Units of the layer behind them."""

    orthogonal: bool = True
    """Orthogonal first weights; false: those of torch."""


class EntitiesConfig(Config):
    """Rows of entities, through attention among those that are present."""

    kind: Literal["entities"]

    hidden: Units = 64
    """Width of an entity's features."""

    heads: Units = 4
    """Attention heads; they divide ``hidden``."""

    layers: int = Field(1, ge=0)
    """Attention layers."""

    present: int | None = Field(None, ge=0)
    """Number of the feature that is above 0 where the entity is there; null: all are."""


class PartsConfig(Config):
    """Each array of the observation through an encoder of its own, and then all features through layers."""

    kind: Literal["parts"]

    parts: dict[str, Annotated[MlpConfig | CnnConfig | EntitiesConfig, Field(discriminator="kind")]]
    """Encoder by the array's path, such as ``units`` or ``camera/left``."""

    hidden: tuple[Units, ...] = (128,)
    """Units of each layer behind them."""

    activation: Activation = "tanh"

    orthogonal: bool = True
    """Orthogonal first weights of these layers; false: those of torch."""


EncoderConfig = Annotated[MlpConfig | CnnConfig | EntitiesConfig | PartsConfig, Field(discriminator="kind")]


class MemoryConfig(Config):
    """A recurrent layer behind the encoder, whose state games carry."""

    kind: Literal["lstm", "gru"]

    units: Units = 64
    """Numbers of its state; of each of its two, for ``lstm``."""


class CategoricalReturns(Config):
    """Returns as chances of fixed atoms: C51 (Bellemare et al., 2017)."""

    kind: Literal["categorical"] = "categorical"

    atoms: int = Field(51, ge=2)
    """How many there are, evenly spaced."""

    low: float
    """Smallest return."""

    high: float
    """Largest return."""

    @model_validator(mode="after")
    def _is_a_range(self) -> "CategoricalReturns":
        if not self.low < self.high:
            raise ValueError(f"low and high are {self.low} and {self.high}; allowed is low < high")
        return self


class QuantileReturns(Config):
    """Returns as quantiles: QR-DQN (Dabney et al., 2018)."""

    kind: Literal["quantile"] = "quantile"

    atoms: int = Field(51, ge=1)
    """How many there are."""


class QConfig(Config):
    """Values of actions in place of a policy, for Q-learning."""

    hidden: tuple[Units, ...] = ()
    """Units of each layer between encoder and values, with relu behind them."""

    dueling: bool = False
    """Whether a state's value and its actions' advantages have layers of their own (Wang et al., 2016)."""

    noisy: bool = False
    """Whether these layers carry learned noise, which explores by itself (Fortunato et al., 2018)."""

    returns: Annotated[CategoricalReturns | QuantileReturns, Field(discriminator="kind")] | None = None
    """What is learned of the returns; null: their mean."""

    ladder: float = Field(0.0, ge=0)
    """α of Ape-X (Horgan et al., 2018): a session plays at random with chance ε^(1 + α u), where u in [0, 1) is its
    own; 0: all sessions with chance ε."""


class CriticsConfig(Config):
    """Values of actions beside a policy, for SAC, TD3 and IQL."""

    count: int = Field(2, ge=1, le=10)
    """How many there are; targets take the smallest."""

    hidden: tuple[Units, ...] = (256, 256)
    """Units of the layers behind each critic's own encoder."""


class ValueConfig(Config):
    """Layers of the value's own, beside those of the policy."""

    encoder: EncoderConfig = MlpConfig()
    """From the whole observation to features."""

    alone: tuple[str, ...] = ()
    """Parts of the observation that the policy does not see, such as the state of the whole game: a centralised critic
    (MAPPO; Yu et al., 2022)."""


class PolicyConfig(Config):
    """A policy's network behind its observation and in front of its action."""

    encoder: EncoderConfig = MlpConfig()
    """From the observation to features."""

    normalise: bool = False
    """Whether real numbers are brought to mean 0 and deviation 1, as seen in training, in front of the encoder."""

    memory: MemoryConfig | None = None
    """null: each tick stands alone."""

    value: ValueConfig | None = None
    """Layers of the value's own; null: it stands on the policy's features."""

    rewards: tuple[str, ...] = ()
    """Names of the rewards of its games, two or more, for each of which it learns a value; empty: there is one."""

    popart: float | None = Field(None, gt=0, le=1)
    """Share of each batch in the running mean and deviation of the returns, at which the value is learned (van Hasselt
    et al., 2016); what it says keeps the scale of the rewards. null: it is learned at that scale."""

    std: Literal["shared", "state"] = "shared"
    """Deviations of real numbers: one parameter each, or by the observation."""

    log_std: float = Field(0.0, ge=-10, le=5)
    """Natural logarithm of the first deviations."""

    head_gain: float = Field(0.01, gt=0)
    """Scale of the action heads' first weights; a small one makes the first policy nearly indifferent."""

    policy_target: bool = False
    """Whether rows carry the visits of a search, for ``alpha_zero`` to learn from."""

    q: QConfig | None = None
    """Values of actions in place of the policy; null: a policy."""

    critics: CriticsConfig | None = None
    """Values of actions beside the policy; null: none."""

    @model_validator(mode="after")
    def _values_something_once(self) -> "PolicyConfig":
        if self.value is not None and (self.q is not None or self.critics is not None):
            raise ValueError("value is the value of a state; allowed is one of value, q and critics")
        if self.rewards and (self.q is not None or self.critics is not None):
            raise ValueError(
                f"rewards is {list(self.rewards)}, and q and critics value one reward; allowed beside them are none"
            )
        if self.policy_target and self.q is not None:
            raise ValueError("policy_target is that of a policy; q has none")
        return self
