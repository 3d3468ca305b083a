"""Optimizers: how gradients change the weights."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from app.config.base import Config, ImportPath


class Schedule(Config):
    """What all schedules share; steps count from the end of the warm-up."""


class ConstantSchedule(Schedule):
    """The learning rate stays as it is."""

    kind: Literal["constant"] = "constant"


class LinearSchedule(Schedule):
    """The learning rate goes to its end in a straight line, and stays there."""

    kind: Literal["linear"] = "linear"

    decay_optimizer_steps: int = Field(ge=1)
    """Optimizer steps until the end."""

    end_factor: float = Field(0.0, ge=0)
    """Learning rate at the end, as a share of ``learning_rate``."""


class CosineSchedule(Schedule):
    """The learning rate goes to its end along half a cosine (Loshchilov & Hutter, 2017), and stays there."""

    kind: Literal["cosine"] = "cosine"

    decay_optimizer_steps: int = Field(ge=1)
    """Optimizer steps until the end."""

    end_factor: float = Field(0.0, ge=0)
    """Learning rate at the end, as a share of ``learning_rate``."""


class ExponentialSchedule(Schedule):
    """The learning rate shrinks by the same factor again and again, smoothly."""

    kind: Literal["exponential"] = "exponential"

    factor: float = Field(gt=0, le=1)
    """What the learning rate is multiplied by."""

    every_optimizer_steps: int = Field(ge=1)
    """Optimizer steps after which the factor has had its whole effect once."""

    end_factor: float = Field(0.0, ge=0)
    """Smallest learning rate, as a share of ``learning_rate``."""


class CustomSchedule(Schedule):
    """A schedule of your own."""

    kind: Literal["custom"] = "custom"

    factory: ImportPath
    """Callable that returns a function from the number of optimizer steps, 0 and up, to a factor of the learning rate;
    it must give the same factor for the same number, since a resumed run asks for the number alone."""

    kwargs: dict[str, Any] = {}
    """Keyword arguments of the factory."""


AnySchedule = Annotated[
    ConstantSchedule | LinearSchedule | CosineSchedule | ExponentialSchedule | CustomSchedule, Discriminator("kind")
]


class OptimizerConfig(Config):
    """What all optimizers share."""

    learning_rate: float = Field(5e-4, gt=0)
    """Step size."""

    schedule: AnySchedule = ConstantSchedule()
    """How the learning rate changes."""

    warmup_optimizer_steps: int = Field(0, ge=0)
    """Optimizer steps, not updates, in which the learning rate grows in a straight line to its full size."""

    max_grad_norm: float | None = Field(0.5, gt=0)
    """Gradients are scaled down to this norm; null leaves them as they are."""

    accumulate_minibatches: int = Field(1, ge=1)
    """Minibatches whose gradients are averaged for one optimizer step."""

    ema_decay: float | None = Field(None, gt=0, lt=1)
    """Share of the old value in a moving average of the weights, by optimizer step: the average is what is published
    and served. Null publishes the weights themselves."""


class Adam(OptimizerConfig):
    """Adam (Kingma & Ba, 2015)."""

    kind: Literal["adam"] = "adam"

    epsilon: float = Field(1e-5, gt=0)
    """Term of the denominator."""

    beta_1: float = Field(0.9, ge=0, lt=1)
    """Share of the old value in the mean of the gradients."""

    beta_2: float = Field(0.999, ge=0, lt=1)
    """Share of the old value in the mean of their squares."""


class AdamW(OptimizerConfig):
    """Adam with decoupled weight decay (Loshchilov & Hutter, 2019)."""

    kind: Literal["adamw"] = "adamw"

    epsilon: float = Field(1e-5, gt=0)
    """Term of the denominator."""

    beta_1: float = Field(0.9, ge=0, lt=1)
    """Share of the old value in the mean of the gradients."""

    beta_2: float = Field(0.999, ge=0, lt=1)
    """Share of the old value in the mean of their squares."""

    weight_decay: float = Field(0.01, ge=0)
    """Share of the weights that a step takes away, times the learning rate."""


class Sgd(OptimizerConfig):
    """Stochastic gradient descent."""

    kind: Literal["sgd"] = "sgd"

    momentum: float = Field(0.0, ge=0, lt=1)
    """Share of the previous step in each step."""

    nesterov: bool = False
    """Whether the gradient is taken where the momentum leads to; it takes a momentum above 0."""

    weight_decay: float = Field(0.0, ge=0)
    """Weight of the weights in the gradient."""


class RmsProp(OptimizerConfig):
    """RMSprop (Hinton, 2012)."""

    kind: Literal["rmsprop"] = "rmsprop"

    epsilon: float = Field(1e-5, gt=0)
    """Term of the denominator."""

    decay: float = Field(0.99, ge=0, lt=1)
    """Share of the old value in the mean of the squared gradients."""

    momentum: float = Field(0.0, ge=0, lt=1)
    """Share of the previous step in each step."""


class CustomOptimizer(OptimizerConfig):
    """An optimizer of your own."""

    kind: Literal["custom"] = "custom"

    factory: ImportPath
    """Callable that returns a ``torch.optim.Optimizer``; it is called with the parameters, ``lr`` and ``kwargs``."""

    kwargs: dict[str, Any] = {}
    """Further keyword arguments of the factory."""


def _kind(value: object) -> object:
    """Returns which optimizer a value describes; Adam where it does not say."""
    return value.get("kind", "adam") if isinstance(value, dict) else getattr(value, "kind", "adam")


Optimizer = Annotated[
    Annotated[Adam, Tag("adam")]
    | Annotated[AdamW, Tag("adamw")]
    | Annotated[Sgd, Tag("sgd")]
    | Annotated[RmsProp, Tag("rmsprop")]
    | Annotated[CustomOptimizer, Tag("custom")],
    Discriminator(_kind),
]
