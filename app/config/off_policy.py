"""Algorithms that learn from single transitions, whoever played them."""

from typing import Literal

from pydantic import Field

from app.config.base import Config


class FromTransitions(Config):
    """What all algorithms that learn from transitions share."""

    minibatch_rows: int = Field(64, ge=1)
    """Transitions of one optimizer step."""

    gamma: float = Field(0.99, ge=0, le=1)
    """Discount per tick of steps that a source hands out; the items of a table have their own."""

    target_every_updates: int | None = Field(None, ge=1)
    """Updates after which the target networks become copies; null: they follow after each optimizer step."""

    target_rate: float = Field(0.005, gt=0, le=1)
    """Share of the way that target networks go where they follow."""


class EpsilonConfig(Config):
    """How often a random action is played: falls in a straight line, and travels with the weights."""

    first: float = Field(1.0, ge=0, le=1)
    """Chance at the first update."""

    last: float = Field(0.05, ge=0, le=1)
    """Chance in the end."""

    updates: int = Field(1000, ge=1)
    """Updates until then."""


class QLearning(FromTransitions):
    """What Q-learning online and offline share; the network says whether it is dueling, noisy or distributional."""

    double: bool = True
    """Whether the trained network chooses the action that the target network values (van Hasselt et al., 2016)."""

    huber_delta: float = Field(1.0, gt=0)
    """Error from which on the loss grows linearly."""


class Dqn(QLearning):
    """Deep Q-learning (Mnih et al., 2015)."""

    kind: Literal["dqn"] = "dqn"

    epsilon: EpsilonConfig = EpsilonConfig()
    """Chance of a random action."""


class Cql(QLearning):
    """Conservative Q-learning (Kumar et al., 2020) for choices: what nobody did in the data is not believed in."""

    kind: Literal["cql"] = "cql"

    conservative_coef: float = Field(1.0, ge=0)
    """Weight of what the values of all choices exceed those of the recorded ones by."""


class Sac(FromTransitions):
    """Soft actor-critic (Haarnoja et al., 2018), for choices and for real numbers."""

    kind: Literal["sac"] = "sac"

    target_entropy: float | None = None
    """Entropy that the temperature keeps, in nats; null: for real numbers minus how many there are, and for choices
    ``entropy_share`` of that of the indifferent policy."""

    entropy_share: float = Field(0.3, ge=0, le=1)
    """Of choices alone: target entropy as a share of the largest one."""

    conservative_coef: float = Field(0.0, ge=0)
    """Weight of what the values of all actions exceed those of the recorded ones by (Kumar et al., 2020), for learning
    from a source: what nobody did in the data is not believed in. 0 believes it."""

    conservative_actions: int = Field(10, ge=1)
    """Of real numbers: how many actions stand for all, of the policy and as many that are drawn evenly."""

    retrace_lambda: float | None = Field(None, ge=0, le=1)
    """Decay of Retrace (Munos et al., 2016): targets follow a trajectory for as long as the present policy would have
    acted so, out of a table of sequences, a queue or a source. null: they look one transition ahead."""


class Td3(FromTransitions):
    """Twin delayed policy gradients (Fujimoto et al., 2018), for real numbers."""

    kind: Literal["td3"] = "td3"

    policy_every_steps: int = Field(2, ge=1)
    """Optimizer steps of the critics for one of the policy."""

    target_noise: float = Field(0.2, ge=0)
    """Deviation of the noise on target actions, as a share of half the range."""

    target_noise_clip: float = Field(0.5, gt=0)
    """Largest noise, in the same unit."""


class Ddpg(FromTransitions):
    """Deep deterministic policy gradients (Lillicrap et al., 2016), for real numbers."""

    kind: Literal["ddpg"] = "ddpg"


class Iql(FromTransitions):
    """Implicit Q-learning (Kostrikov et al., 2022): never asks about an action that nobody took."""

    kind: Literal["iql"] = "iql"

    expectile: float = Field(0.7, gt=0, lt=1)
    """Above 0.5 the value leans to the better actions."""

    advantage_scale: float = Field(3.0, ge=0)
    """How sharply better actions are preferred."""

    largest_weight: float = Field(100.0, gt=0)
    """Largest weight of a row."""


TransitionAlgorithm = Dqn | Cql | Sac | Td3 | Ddpg | Iql
