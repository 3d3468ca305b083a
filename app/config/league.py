"""League training: who plays whom, and when opponents are frozen."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from app.config.base import Config, Name, Process
from app.config.matchmaking import Matchmaking

PlayerName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*(:[1-9][0-9]*)?$")]
"""A player: a name of the config, or what a learning player was at the end of a period, as ``main:3``."""


class Hyperparameter(Config):
    """A number that belongs to a learning period."""

    initial: float
    """Value of the first period, and of each one that begins anew."""

    low: float | None = None
    """Smallest value; null with ``high``: it is never changed."""

    high: float | None = None
    """Largest value; null with ``low``: it is never changed."""

    @model_validator(mode="after")
    def _has_bounds(self) -> "Hyperparameter":
        if (self.low is None) != (self.high is None):
            raise ValueError(f"low is {self.low} and high {self.high}; allowed are both or none")
        if self.low is not None and self.high is not None and not self.low <= self.initial <= self.high:
            raise ValueError(
                f"initial is {self.initial:g}; allowed is a number from low {self.low:g} to high {self.high:g}"
            )
        return self


class LearnerConfig(Config):
    """A learning player of the league, or several alike."""

    trainer: Name
    """Trainer that goes on with it; several players may share one in turn."""

    role: Literal["main", "main_exploiter", "league_exploiter"] = "main"
    """Whom it is to beat: a ``main_exploiter`` the main players, the others all that is frozen."""

    matchmaking: Matchmaking | None = None
    """How its opponents are chosen; null: as its role has it, ``main_agent``, ``vs_main`` or ``league_exploiter``."""

    count: int = Field(1, ge=1)
    """Learning players of this kind; more than one are called name_1, name_2 and so on."""

    initial: Name | None = None
    """Model of ``league.initial_models`` that it begins with, and anew; null: untrained weights."""

    freeze_every_updates: int = Field(200_000, ge=1)
    """Updates after which it is frozen in any case."""

    freeze_winrate: float | None = Field(None, gt=0, le=1)
    """Win rate against each of those whom it is to beat at which it is frozen earlier; null: never."""

    freeze_min_updates: int = Field(0, ge=0)
    """Updates before which that does not freeze it."""

    reset_winrate: float | None = Field(None, gt=0, le=1)
    """Win rate against each of those whom it is to beat at which it is frozen and begins anew; null: never."""

    reset_probability: float = Field(0.0, ge=0, le=1)
    """Chance that it begins anew whenever it is frozen for another reason; the paper's main exploiters have 1, its
    league exploiters 0.25."""

    hyperparameters: dict[Name, Hyperparameter] = {}
    """Numbers of its learning periods, by name."""

    population: Name | None = None
    """Players among which ``copying`` copies; null: the others of this entry."""


class Supplied(Config):
    """A frozen opponent that nobody here has trained: a human's, an old release, a script."""

    weights: str | None = Field(None, min_length=1)
    """What it plays with, as the model pool names it: a clone, a checkpoint, a registered version; null: nothing."""

    agent: Name | None = None
    """Agent that plays it, such as a scripted one, or one that asks a human; null: the one that its weights belong
    to."""

    outside: bool = False
    """The game core plays it itself, a human for example: it starts no session for its seats, and its stops say
    ``scores``."""

    rating: float | None = None
    """Rating that it keeps for ever, so that others are measured by it; null: its results move it."""

    @model_validator(mode="after")
    def _plays(self) -> "Supplied":
        if self.outside and (self.weights is not None or self.agent is not None):
            raise ValueError("outside is true, and weights or agent is given; allowed is one of the ways to play")
        if not self.outside and self.weights is None and self.agent is None:
            raise ValueError("weights and agent are both null; allowed is one of them, or both, or outside: true")
        return self


class CopyingConfig(Config):
    """Population based training (Jaderberg et al., 2017, 2019): at a freeze, who has fallen behind copies another."""

    below: float = Field(0.3, gt=0, lt=0.5)
    """Score expected against another player of the population below which it takes that one's weights and values."""

    probability: float = Field(1.0, ge=0, le=1)
    """Chance that a value is changed."""

    factors: tuple[Annotated[float, Field(gt=0)], ...] = Field((0.8, 1.2), min_length=1)
    """By which values are multiplied, one or the other."""

    mutate: Literal["copied", "always"] = "copied"
    """Whether values change after a copy alone, or whenever a player is frozen."""


class PromotionConfig(Config):
    """The sequential test (Wald, 1945) by which a newly frozen main player becomes champion."""

    alpha: float = Field(0.05, gt=0, lt=0.5)
    """Largest probability that one no better than the champion is promoted."""

    beta: float = Field(0.05, gt=0, lt=0.5)
    """Largest probability that one who wins with ``better`` is rejected."""

    better: float = Field(0.55, gt=0.5, lt=1)
    """Share of decided matches that a better one wins."""


class MatchesConfig(Config):
    """Matches under way."""

    timeout_s: float = Field(3600.0, gt=0)
    """Seconds after which a match without a result is given up."""

    max_open: int = Field(10_000, ge=1)
    """Matches under way at once; beyond, the oldest are given up."""


class KeepingConfig(Config):
    """What the league writes down."""

    restore: str | None = None
    """Folder of another league's files that a new one begins with; null: it begins empty. A league that has files of
    its own goes on from those."""

    save_every_s: float = Field(60.0, gt=0)
    """Seconds between snapshots, if anything has changed."""

    fsync: bool = True
    """Whether an acknowledgement waits for the disk itself: then nothing acknowledged is lost in a power failure
    either, not in that of the process alone."""

    keep_mb: int | None = Field(4096, ge=1)
    """Size of the match log, in MiB; what is older and not needed goes. Null keeps all."""


class LeagueConfig(Process):
    """Who plays whom, and when opponents are frozen."""

    enable: Literal["train", "deploy", "both"] = "train"
    """Mode in which there is a league."""

    players: dict[Name, LearnerConfig] = Field(min_length=1)
    """Players that learn."""

    opponents: dict[Name, Supplied] = {}
    """Frozen players from elsewhere."""

    initial_models: dict[Name, str] = {}
    """Weights that players begin with, as the model pool names them: a clone, a checkpoint, a registered version."""

    seats: tuple[Annotated[int, Field(ge=1)], ...] = Field((1, 1), min_length=2)
    """Sessions of each side of a match: [1, 1] is one against one, [2, 2] two teams of two."""

    sessions: Literal["seat", "match"] = "seat"
    """``seat``: each seat of a match has a session of its own; ``match``: one session plays all of them, and its ticks,
    stops and answers hold what belongs to each seat under ``seats``, by number. JSON payloads only."""

    evaluation_share: float = Field(0.0, ge=0, lt=1)
    """Share of the matches that frozen players play, where the result says most and nobody learns from it: a new one
    against the champion, until one is known to be better, and those whose ratings are the least certain."""

    frozen_inference: Literal["model", "actor"] = "model"
    """Where frozen players are asked. ``model``: where their model is, in the actor's process or in replicas of its
    own; ``actor``: in the actor's process, also where the newest weights are asked in replicas."""

    pools: dict[Name, tuple[PlayerName, ...]] = {}
    """Fixed lists of players for evaluation."""

    rating: Literal["elo", "openskill"] = "openskill"
    """How results become ratings: ``openskill`` (Weng and Lin, 2011) takes any number of sides."""

    fix_frozen_ratings: bool = False
    """Whether a frozen player keeps the rating that it had as it was frozen."""

    winrate_decay: float = Field(0.99, gt=0, le=1)
    """Weight of an old result of a pair per new one."""

    prior_games: float = Field(0.0, ge=0)
    """Draws that each pair counts as having played."""

    min_games: int = Field(20, ge=0)
    """Games of a pair before its win rate is trusted; until then 0.5."""

    slice_updates: int | None = Field(None, ge=1)
    """Updates after which a trainer of several players turns to the next; null: when one is frozen."""

    copying: CopyingConfig | None = None
    """How weights and hyperparameters are copied; null: not at all."""

    promotion: PromotionConfig = PromotionConfig()

    matches: MatchesConfig = MatchesConfig()

    keeping: KeepingConfig = KeepingConfig()

    solve_every_s: float = Field(10.0, gt=0)
    """Seconds between solutions of the game among the frozen players, where a matchmaker asks for them and results
    have come."""

    def ids_of(self, name: str) -> tuple[str, ...]:
        """Returns the ids of an entry's learning players."""
        count = self.players[name].count
        return (name,) if count == 1 else tuple(f"{name}_{number}" for number in range(1, count + 1))

    @property
    def learners(self) -> tuple[str, ...]:
        """The ids of all learning players."""
        return tuple(player for name in self.players for player in self.ids_of(name))
