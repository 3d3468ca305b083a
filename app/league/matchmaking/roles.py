"""The league of main players and exploiters (Vinyals et al., 2019), https://doi.org/10.1038/s41586-019-1724-z.

The branches and thresholds are those of the pseudocode in the paper's supplement. It draws one main player and then
asks about it; here the distribution over all main players is written down, so that it can be looked at.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.league.matchmaking.among import Shares
from app.league.matchmaking.matchmaker import Probabilities
from app.league.matchmaking.pfsp import Weighting, pfsp
from app.league.payoff import Payoff, PlayerId
from app.league.players import Role
from app.league.roster import Roster


@dataclass(frozen=True, slots=True)
class MainAgent:
    """Main players: PFSP against all that is frozen, self-play, and a look at what may have been forgotten."""

    roster: Roster
    self_play: float = 0.35
    """Share of matches against the main players, itself among them."""
    verification: float = 0.15
    """Share of matches against exploiters that it loses to, or old versions that it has forgotten how to beat."""
    exploited_below: float = 0.3
    """Win rate against some old exploiter below which it trains against the exploiters."""
    forgotten_below: float = 0.7
    """Win rate against some old main player below which that one counts as forgotten."""
    catch_up_below: float = 0.3
    """Win rate against a main player below which it meets what that one was instead."""
    weighting: Weighting = "squared"

    def __post_init__(self) -> None:
        if min(self.self_play, self.verification) < 0 or self.self_play + self.verification > 1:
            raise ValueError(
                "shares of self-play and verification must not be negative and at most 1 together, "
                f"got {self.self_play} and {self.verification}"
            )

    def probabilities(self, player: PlayerId, candidates: Sequence[PlayerId], payoff: Payoff) -> Probabilities:
        """Returns the probability of each candidate, [N]; the player itself must be among them."""
        shares = Shares(candidates)
        mains = self.roster.mains or (player,)
        frozen = self.roster.frozen_ids
        left = 1.0
        if frozen:
            left = self.self_play + self.verification
            shares.add(1 - left, frozen, pfsp(payoff.win_rates(player, frozen), self.weighting))
        verified = min(self.verification, left)
        for main in mains:
            wrong = self._wrong(player, main, payoff)
            if wrong is None:
                self._self_play(shares, left / len(mains), player, main, payoff)
                continue
            shares.add(verified / len(mains), *wrong)
            self._self_play(shares, (left - verified) / len(mains), player, main, payoff)
        return shares.probabilities()

    def _wrong(
        self, player: PlayerId, main: PlayerId, payoff: Payoff
    ) -> tuple[Sequence[PlayerId], Probabilities] | None:
        """Returns exploiters that beat the player, or forgotten versions of a main player; None where all is well."""
        exploiters = self.roster.frozen_of_role(Role.MAIN_EXPLOITER)
        if exploiters:
            rates = payoff.win_rates(player, exploiters)
            if rates.min() < self.exploited_below:
                return exploiters, pfsp(rates, "squared")
        past = self.roster.frozen_of(main)
        rates = payoff.win_rates(player, past)
        kept = without_monotonic_end(rates)
        if kept and rates[:kept].min() < self.forgotten_below:
            return past[:kept], pfsp(rates[:kept], "variance")
        return None

    def _self_play(self, shares: Shares, share: float, player: PlayerId, main: PlayerId, payoff: Payoff) -> None:
        past = self.roster.frozen_of(main)
        if main == player or not past or payoff.win_rate(player, main) > self.catch_up_below:
            shares.add_one(share, main)
        else:
            shares.add(share, past, pfsp(payoff.win_rates(player, past), "variance"))


@dataclass(frozen=True, slots=True)
class MainExploiter:
    """Main exploiters: the main players, or what they were as long as they are too strong."""

    roster: Roster
    fall_back_below: float = 0.1
    """Win rate against a main player below which it meets what that one was instead, equals first."""

    def probabilities(self, player: PlayerId, candidates: Sequence[PlayerId], payoff: Payoff) -> Probabilities:
        """Returns the probability of each candidate, [N]; the player itself must be among them."""
        shares = Shares(candidates)
        mains = self.roster.mains or (player,)
        for main in mains:
            past = self.roster.frozen_of(main)
            if main == player or not past or payoff.win_rate(player, main) > self.fall_back_below:
                shares.add_one(1 / len(mains), main)
            else:
                shares.add(1 / len(mains), past, pfsp(payoff.win_rates(player, past), "variance"))
        return shares.probabilities()


@dataclass(frozen=True, slots=True)
class LeagueExploiter:
    """League exploiters: PFSP against all that is frozen; those that it loses to alike."""

    roster: Roster
    weighting: Weighting = "linear_capped"

    def probabilities(self, player: PlayerId, candidates: Sequence[PlayerId], payoff: Payoff) -> Probabilities:
        """Returns the probability of each candidate, [N]; the player itself must be among them."""
        frozen, shares = self.roster.frozen_ids, Shares(candidates)
        if frozen:
            shares.add(1.0, frozen, pfsp(payoff.win_rates(player, frozen), self.weighting))
        else:
            shares.add_one(1.0, player)
        return shares.probabilities()


def without_monotonic_end(win_rates: Probabilities) -> int:
    """Returns how many of the oldest versions are left when those are gone from whose end on each is harder to beat.

    A version that is beaten less than a newer one has been forgotten; a fall towards the newest is what progress
    looks like.
    """
    rises = np.flatnonzero(win_rates[:-1] < win_rates[1:])
    return int(rises[-1]) + 2 if rises.size else 0
