"""How the opponents of a learning player are chosen; ``docs/league.md`` has the formulas and papers."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from app.config.base import Config, Name

Past = Literal["league", "own"]
"""``league``: all that is frozen, supplied opponents included; ``own``: what the player itself was."""
Weighting = Literal["variance", "variance_floored", "squared", "linear", "linear_capped"]


class SelfPlay(Config):
    """The newest weights play themselves."""

    kind: Literal["self_play"] = "self_play"


class _WithSelfPlay(Config):
    """Frozen opponents, and itself in a share of the matches; itself alone as long as nothing is frozen."""

    past: Past = "league"
    """Who is met."""

    self_play: float = Field(0.0, ge=0, le=1)
    """Share of matches against its own newest weights."""


class Newest(_WithSelfPlay):
    """The newest frozen one."""

    kind: Literal["newest"] = "newest"


class Uniform(_WithSelfPlay):
    """Fictitious self-play, and δ-uniform (Bansal et al., 2018)."""

    kind: Literal["uniform"] = "uniform"

    delta: float = Field(0.0, ge=0, le=1)
    """Oldest share of the past that is left out: 0 none, 1 all but the newest."""


class Pfsp(_WithSelfPlay):
    """Prioritized fictitious self-play (Vinyals et al., 2019)."""

    kind: Literal["pfsp"] = "pfsp"

    weighting: Weighting = "squared"
    """Which win rates p are preferred: ``variance`` p(1 - p), ``variance_floored`` the same of max(p, 0.1),
    ``squared`` (1 - p)², ``linear`` 1 - p, ``linear_capped`` min(1 - p, 0.5)."""

    self_play: float = Field(0.35, ge=0, le=1)
    """Share of matches against its own newest weights."""


class Psro(_WithSelfPlay):
    """The equilibrium of the game among the frozen ones (Lanctot et al., 2017), solved beside the league."""

    kind: Literal["psro"] = "psro"

    rectified: bool = False
    """Leaves out opponents that the player loses to (Balduzzi et al., 2019)."""


class Elo(Config):
    """Equals by rating (Jaderberg et al., 2019), among all other players."""

    kind: Literal["elo"] = "elo"

    sigma: float = Field(1 / 6, gt=0)
    """Deviation of the expected score from 1/2 that is still met often."""


class MainAgent(Config):
    """A main player of the league of exploiters (Vinyals et al., 2019)."""

    kind: Literal["main_agent"] = "main_agent"

    self_play: float = Field(0.35, ge=0, le=1)
    """Share of matches against the main players, itself among them."""

    verification: float = Field(0.15, ge=0, le=1)
    """Share of matches against exploiters that beat it, or old versions that it has forgotten how to beat."""

    exploited_below: float = Field(0.3, ge=0, le=1)
    """Win rate against an old exploiter below which it trains against those."""

    forgotten_below: float = Field(0.7, ge=0, le=1)
    """Win rate against an old main player below which that one counts as forgotten."""

    catch_up_below: float = Field(0.3, ge=0, le=1)
    """Win rate against a main player below which it meets what that one was instead."""

    weighting: Weighting = "squared"
    """Of the other matches, against all that is frozen."""

    @model_validator(mode="after")
    def _shares_fit(self) -> "MainAgent":
        if self.self_play + self.verification > 1:
            raise ValueError(
                f"self_play is {self.self_play:g} and verification {self.verification:g}; allowed is at most 1 together"
            )
        return self


class VsMain(Config):
    """A main exploiter (Vinyals et al., 2019): plays the main players."""

    kind: Literal["vs_main"] = "vs_main"

    fall_back_below: float = Field(0.1, ge=0, le=1)
    """Win rate against a main player below which it meets what that one was instead, equals first."""


class LeagueExploiter(Config):
    """A league exploiter (Vinyals et al., 2019): all that is frozen."""

    kind: Literal["league_exploiter"] = "league_exploiter"

    weighting: Weighting = "linear_capped"
    """Which win rates p are preferred, as of ``pfsp``."""


class Pool(Config):
    """The players of a fixed pool, all alike."""

    kind: Literal["pool"] = "pool"

    pool: Name
    """Pool of ``league.pools``."""


Matchmaking = Annotated[
    SelfPlay | Newest | Uniform | Pfsp | Psro | Elo | MainAgent | VsMain | LeagueExploiter | Pool,
    Field(discriminator="kind"),
]
