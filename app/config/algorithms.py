"""All algorithms: those that learn from rows of trajectories stand here, the others in ``app.config.off_policy``."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from app.config.base import Config, Factory, ImportPath, Name
from app.config.from_trajectories import FromTrajectories, Online, Sequential
from app.config.off_policy import Cql, Ddpg, Dqn, FromTransitions, Iql, Sac, Td3
from app.config.trust_region import Trpo


class Clipped(Online):
    """What the algorithms with the clipped surrogate of PPO share."""

    clip_epsilon: float = Field(0.2, gt=0)
    """Largest change of an action's probability that is still rewarded, as a ratio minus 1."""

    dual_clip: float | None = Field(None, gt=1)
    """Largest loss of a bad action, as a multiple of its advantage (Ye et al., 2020); null bounds nothing."""

    value_clip: float | None = Field(None, gt=0)
    """Largest change of a value in one update that lowers its loss; null bounds nothing."""

    largest_kl: float | None = Field(None, gt=0)
    """Divergence from the policy that acted, in nats; where a minibatch exceeds 1.5 times this, the rest of the update
    is left out. null never does so."""


class Proximal(Clipped):
    """What PPO and GAIL share."""

    gae_lambda: float = Field(0.95, ge=0, le=1)
    """Mixing of one-step (0) and Monte Carlo (1) returns."""

    epochs: int = Field(4, ge=1)
    """Passes over each batch."""


class Ppo(Proximal):
    """Clipped PPO (Schulman et al., 2017)."""

    kind: Literal["ppo"] = "ppo"


class DiscriminatorConfig(Factory):
    """What tells an expert's moves from those of the policy that learns, and how it learns to."""

    factory: ImportPath = "app.models.networks.discriminator:build"
    """Callable that returns a network; it is called with the model's ``ModelSpec`` and ``kwargs``. The network maps an
    observation and an action, nested like the model's and each leaf [M, …], to numbers [M]: the log-odds that the
    expert did so."""

    epochs: int = Field(1, ge=1)
    """Passes over each batch."""

    learning_rate: float = Field(3e-4, gt=0)
    """Of Adam."""

    label_smoothing: float = Field(0.0, ge=0, lt=0.5)
    """How far the labels lie from 0 and 1, so that it never becomes certain."""


class Gail(Proximal):
    """GAIL (Ho & Ermon, 2016): PPO whose reward is how much its moves look like an expert's."""

    kind: Literal["gail"] = "gail"

    expert: Name
    """Source with the expert's games; their rewards are not looked at. Each learner worker holds its steps."""

    expert_rows: int = Field(100_000, ge=1)
    """Most steps of it that are held, the first ones."""

    reward: Literal["paper", "log_odds"] = "paper"
    """What a move pays, of the chance D that the expert did it: ``paper`` -log(1 - D), which is above 0, so that
    long games pay whatever happens in them; ``log_odds`` log D - log(1 - D), which is below 0 for moves that look
    unlike the expert's (Fu et al., 2018)."""

    discriminator: DiscriminatorConfig = DiscriminatorConfig()


class A2c(Online):
    """Advantage actor-critic (Mnih et al., 2016): one pass over each batch, as it was played."""

    kind: Literal["a2c"] = "a2c"

    gae_lambda: float = Field(1.0, ge=0, le=1)
    """Mixing of one-step (0) and Monte Carlo (1) returns."""

    normalise_advantage: bool = False
    """Whether advantages are brought to mean 0 and deviation 1."""


class Traced(Config):
    """What the algorithms that correct for older policies share: V-trace (Espeholt et al., 2018)."""

    trace_lambda: float = Field(1.0, ge=0, le=1)
    """Decay of the trace."""

    rho_clip: float = Field(1.0, gt=0)
    """Largest importance ratio of a temporal difference."""

    c_clip: float = Field(1.0, gt=0)
    """Largest importance ratio of the trace."""


class Impala(Traced, Online):
    """IMPALA (Espeholt et al., 2018): the actor-critic loss on V-trace's targets."""

    kind: Literal["impala"] = "impala"


class Appo(Traced, Clipped):
    """Asynchronous PPO: the clipped surrogate on V-trace's advantages."""

    kind: Literal["appo"] = "appo"


class Bc(FromTrajectories):
    """Behaviour cloning: recorded actions become likely."""

    kind: Literal["bc"] = "bc"

    gae_lambda: float = Field(1.0, ge=0, le=1)
    """Mixing of one-step (0) and Monte Carlo (1) returns in the targets of the value."""

    value_coef: float = Field(0.0, ge=0)
    """Weight of the value loss; above 0 the value is ready for an algorithm that goes on from here."""

    entropy_coef: float = Field(0.0, ge=0)
    """Weight of the entropy bonus."""


class Marwil(FromTrajectories):
    """MARWIL (Wang et al., 2018): recorded actions become likely, the better the more."""

    kind: Literal["marwil"] = "marwil"

    gae_lambda: float = Field(1.0, ge=0, le=1)
    """Mixing of one-step (0) and Monte Carlo (1) returns."""

    advantage_scale: float = Field(1.0, ge=0)
    """How sharply better actions are preferred; 0 is behaviour cloning."""

    largest_weight: float = Field(20.0, gt=0)
    """Largest weight of a row."""

    scale_share: float = Field(0.01, gt=0, le=1)
    """Share of each batch in the running mean square by whose root advantages are divided."""

    entropy_coef: float = Field(0.0, ge=0)
    """Weight of the entropy bonus."""


class AlphaZero(FromTrajectories):
    """AlphaZero (Silver et al., 2018): the policy learns the visits of a search, the value how the game ended."""

    kind: Literal["alpha_zero"] = "alpha_zero"

    gamma: float = Field(1.0, gt=0, le=1)
    """Discount per tick; 1 learns the outcome itself."""

    gae_lambda: float = Field(1.0, ge=0, le=1)
    """Mixing of one-step (0) and Monte Carlo (1) returns in the targets of the value; 1 learns from the outcome."""

    value_coef: float = Field(2.0, ge=0)
    """Weight of half the squared error of the value; 2 is the paper's."""

    entropy_coef: float = Field(0.0, ge=0)
    """Weight of the entropy bonus; the paper has none."""


class CustomAlgorithm(Sequential):
    """An algorithm of your own."""

    kind: Literal["custom"] = "custom"

    factory: ImportPath
    """Callable that returns a ``Learner`` of ``app.algorithms.contract``; it is called with a ``Training`` of
    ``app.algorithms.custom``, and ``kwargs``."""

    kwargs: dict[str, Any] = {}
    """Further keyword arguments of the factory."""

    learns_from: Literal["trajectories", "transitions"] = "trajectories"
    """What its batches hold: rows of trajectories, of a queue, a source or a table of sequences; or transitions, of a
    table of these."""


def _kind(value: object) -> object:
    """Returns which algorithm a value describes; PPO where it does not say."""
    return value.get("kind", "ppo") if isinstance(value, dict) else getattr(value, "kind", "ppo")


TrajectoryAlgorithm = Ppo | Gail | A2c | Impala | Appo | Bc | Marwil | AlphaZero

Algorithm = Annotated[
    Annotated[Ppo, Tag("ppo")]
    | Annotated[Gail, Tag("gail")]
    | Annotated[A2c, Tag("a2c")]
    | Annotated[Impala, Tag("impala")]
    | Annotated[Appo, Tag("appo")]
    | Annotated[Trpo, Tag("trpo")]
    | Annotated[Bc, Tag("bc")]
    | Annotated[Marwil, Tag("marwil")]
    | Annotated[AlphaZero, Tag("alpha_zero")]
    | Annotated[Dqn, Tag("dqn")]
    | Annotated[Cql, Tag("cql")]
    | Annotated[Sac, Tag("sac")]
    | Annotated[Td3, Tag("td3")]
    | Annotated[Ddpg, Tag("ddpg")]
    | Annotated[Iql, Tag("iql")]
    | Annotated[CustomAlgorithm, Tag("custom")],
    Discriminator(_kind),
]


def learns_from_transitions(algorithm: Algorithm) -> bool:
    """Returns whether an algorithm learns from transitions, and not from trajectories."""
    if isinstance(algorithm, Sac) and algorithm.retrace_lambda is not None:
        return False
    return asks_parts(algorithm)


def asks_parts(algorithm: Algorithm) -> bool:
    """Returns whether an algorithm asks parts of a network alone, such as its critics."""
    if isinstance(algorithm, CustomAlgorithm):
        return algorithm.learns_from == "transitions"
    return isinstance(algorithm, FromTransitions)
