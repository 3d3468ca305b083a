"""What ``sparring evolve`` does: evolution strategies on Gymnasium environments."""

from pydantic import Field, model_validator

from app.config.base import Config, Name
from app.config.checkpoints import CheckpointsConfig
from app.config.optimizers import Adam, Optimizer


class EvolutionEvaluation(Config):
    """Games of the weights themselves, without noise, that nothing is learned from."""

    every_updates: int = Field(5, ge=1)
    """Updates between two evaluations; the last update has one, too."""

    games: int = Field(20, ge=1)
    """Games of one evaluation."""

    seed: int = Field(1_000_000, ge=0)
    """First seed; each evaluation plays the same games."""


class EvolutionTasks(Config):
    """How a population is spread over Ray tasks."""

    at_once: int = Field(2, ge=1)
    """Tasks under way at a time."""

    pairs: int = Field(4, ge=1)
    """Pairs of the population that one task plays."""

    num_cpus: float = Field(1.0, ge=0)
    """CPU cores that one task reserves."""

    max_restarts: int = Field(3, ge=0)
    """Times that one task whose process is lost is repeated; then the run gives up."""

    timeout_s: float = Field(600.0, gt=0)
    """Seconds without the end of any task after which the run gives up."""


class EvolutionConfig(Config):
    """Evolution strategies (Salimans et al., 2017)."""

    model: Name
    """Policy whose weights are evolved; those that no action depends on stay as they are."""

    env: str
    """Gymnasium id."""

    episode_ticks: int | None = Field(None, ge=1)
    """Ticks after which a game is cut; null: the environment's own limit."""

    pairs: int = Field(16, ge=1)
    """Size of the population in pairs of candidates, whose noise is the same with opposite signs."""

    games: int = Field(1, ge=1)
    """Games that each candidate plays; those of one update play the same ones."""

    sigma: float = Field(0.1, gt=0)
    """Deviation of the candidates' weights from the present ones."""

    weight_decay: float = Field(0.005, ge=0)
    """Weight of the weights in the gradient."""

    optimizer: Optimizer = Adam(learning_rate=0.05, max_grad_norm=None)
    """Takes the estimated gradient as its own."""

    tasks: EvolutionTasks = EvolutionTasks()

    evaluation: EvolutionEvaluation = EvolutionEvaluation()

    goal: float | None = None
    """Mean return of an evaluation at which the run ends; null trains for all updates."""

    max_updates: int = Field(200, ge=1)
    """Updates after which the run ends."""

    checkpoints: CheckpointsConfig = CheckpointsConfig()

    @model_validator(mode="after")
    def _steps_are_whole(self) -> "EvolutionConfig":
        if self.optimizer.accumulate_minibatches != 1:
            raise ValueError(
                f"optimizer.accumulate_minibatches is {self.optimizer.accumulate_minibatches}, and an update has one "
                "gradient; allowed is 1, with more pairs instead"
            )
        if self.optimizer.ema_decay is not None:
            raise ValueError(
                f"optimizer.ema_decay is {self.optimizer.ema_decay:g}; allowed is null: no average is evolved"
            )
        return self
