"""A league's settings, of its config."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from app.config import matchmaking as by_config
from app.config.league import CopyingConfig, LeagueConfig, LearnerConfig, Supplied
from app.league.hyperparameters import Mutation, Span
from app.league.matchmaking.among import Among, Mixed, SelfPlay
from app.league.matchmaking.equilibrium import SolvedPsro
from app.league.matchmaking.matchmaker import Matchmaker
from app.league.matchmaking.past import Newest, UniformWindow
from app.league.matchmaking.pfsp import Pfsp
from app.league.matchmaking.rated import EloMatched
from app.league.matchmaking.roles import LeagueExploiter, MainAgent, MainExploiter
from app.league.payoff import PlayerId
from app.league.players import FrozenPlayer, Role, Weights
from app.league.promotion import PromotionTest
from app.league.settings import Copying, Freezing, LeagueSettings, LearnerSettings, MakeMatchmaker, Parts


def league_settings(
    config: LeagueConfig, seed: int, weights: Mapping[str, Weights] = MappingProxyType({})
) -> LeagueSettings:
    """Returns the settings of a league.

    Args:
      config: Its section of the config.
      seed: Of the run.
      weights: What its references to weights stand for, by reference.
    """
    return LeagueSettings(
        learners={
            player_id: _learner(config, name, player_id) for name in config.players for player_id in config.ids_of(name)
        },
        supplied={name: _supplied(name, opponent, weights) for name, opponent in config.opponents.items()},
        initial_models={name: _named(reference, weights) for name, reference in config.initial_models.items()},
        pools=config.pools,
        rating=config.rating,
        fix_frozen_ratings=config.fix_frozen_ratings,
        decay=config.winrate_decay,
        prior_games=config.prior_games,
        min_games=config.min_games,
        promotion=PromotionTest(config.promotion.alpha, config.promotion.beta, 0.5, config.promotion.better),
        copying=None if config.copying is None else _copying(config.copying),
        slice_updates=config.slice_updates,
        match_timeout_s=config.matches.timeout_s,
        max_open_matches=config.matches.max_open,
        seed=seed,
    )


def asks_equilibrium(config: LeagueConfig) -> bool:
    """Returns whether a player's matchmaker asks for the equilibrium of the frozen players."""
    return any(isinstance(player.matchmaking, by_config.Psro) for player in config.players.values())


def _learner(config: LeagueConfig, name: str, player_id: PlayerId) -> LearnerSettings:
    player = config.players[name]
    return LearnerSettings(
        trainer=player.trainer,
        role=Role(player.role),
        matchmaker=None if player.matchmaking is None else _matchmaker(player.matchmaking, config),
        initial=player.initial,
        freezing=_freezing(player),
        spans={key: Span(value.initial, value.low, value.high) for key, value in player.hyperparameters.items()},
        population=player.population or name,
    )


def _freezing(player: LearnerConfig) -> Freezing:
    return Freezing(
        every_updates=player.freeze_every_updates,
        min_updates=player.freeze_min_updates,
        winrate=player.freeze_winrate,
        reset_winrate=player.reset_winrate,
        reset_probability=player.reset_probability,
    )


def _named(reference: str, weights: Mapping[str, Weights]) -> Weights:
    return weights.get(reference, Weights(reference))


def _supplied(name: str, opponent: Supplied, weights: Mapping[str, Weights]) -> FrozenPlayer:
    own = None if opponent.weights is None else _named(opponent.weights, weights)
    return FrozenPlayer(id=name, weights=own, agent=opponent.agent, rating=opponent.rating)


def _copying(config: CopyingConfig) -> Copying:
    return Copying(config.below, Mutation(config.probability, config.factors), config.mutate)


def _matchmaker(config: by_config.Matchmaking, league: LeagueConfig) -> MakeMatchmaker:
    """Returns what makes a configured matchmaker."""
    match config:
        case by_config.SelfPlay():
            return lambda _: SelfPlay()
        case by_config.Elo(sigma=sigma):
            return lambda parts: _all_others(parts, EloMatched(parts.ratings, sigma))
        case by_config.Pool(pool=pool):
            return lambda parts: Among(lambda _: _present(parts, league.pools[pool]), UniformWindow())
        case by_config.MainAgent() | by_config.VsMain() | by_config.LeagueExploiter():
            return lambda parts: _of_role(config, parts)
        case _:
            return lambda parts: _with_self_play(config, parts)


def _of_role(config: by_config.MainAgent | by_config.VsMain | by_config.LeagueExploiter, parts: Parts) -> Matchmaker:
    given = config.model_dump(exclude={"kind"})
    match config:
        case by_config.MainAgent():
            return MainAgent(parts.roster, **given)
        case by_config.VsMain():
            return MainExploiter(parts.roster, **given)
        case by_config.LeagueExploiter():
            return LeagueExploiter(parts.roster, **given)


def _with_self_play(
    config: by_config.Newest | by_config.Uniform | by_config.Pfsp | by_config.Psro, parts: Parts
) -> Matchmaker:
    roster = parts.roster
    past = Among(roster.frozen_of if config.past == "own" else lambda _: roster.frozen_ids, _of_past(config, parts))
    return Mixed([(config.self_play, SelfPlay()), (1 - config.self_play, past)])


def _of_past(
    config: by_config.Newest | by_config.Uniform | by_config.Pfsp | by_config.Psro, parts: Parts
) -> Matchmaker:
    match config:
        case by_config.Newest():
            return Newest()
        case by_config.Uniform(delta=delta):
            return UniformWindow(delta)
        case by_config.Pfsp(weighting=weighting):
            return Pfsp(weighting)
        case by_config.Psro(rectified=rectified):
            return SolvedPsro(parts.equilibrium, rectified)


def _all_others(parts: Parts, matchmaker: Matchmaker) -> Matchmaker:
    return Among(lambda player: [other for other in parts.roster.begun if other != player], matchmaker)


def _present(parts: Parts, pool: Sequence[PlayerId]) -> Sequence[PlayerId]:
    return [player for player in pool if player in parts.roster]
