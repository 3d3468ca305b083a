"""What must hold beside the schema where a config has a league."""

from collections.abc import Iterator

from app.config.active import agents_of
from app.config.league import LeagueConfig, LearnerConfig
from app.config.matchmaking import Pool
from app.config.problems import Problems
from app.config.root import ExperimentConfig


def league_problems(config: ExperimentConfig) -> Problems:
    """Returns what names nothing in a league, and which of its players nobody could play or meet."""
    league = config.league
    if league is None:
        return {}
    problems = _name_problems(league)
    for name, player in league.players.items():
        for path, message in _player_problems(config, league, player):
            problems[f"league.players.{name}.{path}"] = message
    known = {*league.learners, *league.opponents}
    for pool, players in league.pools.items():
        for place, player_name in enumerate(players):
            if player_name not in known and player_name.rpartition(":")[0] not in league.learners:
                problems[f"league.pools.{pool}.{place}"] = (
                    f"no player named {player_name!r}; there are: {', '.join(sorted(known))}, and what a learning one "
                    "was, as name:period"
                )
    return problems


def _name_problems(league: LeagueConfig) -> Problems:
    """Returns the names that two players would have."""
    taken: dict[str, str] = {}
    problems: Problems = {}
    for name in league.players:
        for player_id in league.ids_of(name):
            if player_id in taken:
                problems[f"league.players.{name}"] = f"its player {player_id!r} is one of {taken[player_id]} already"
            taken.setdefault(player_id, f"league.players.{name}")
    for name in league.opponents:
        if name in taken:
            problems[f"league.opponents.{name}"] = f"{name!r} is one of {taken[name]} already, allowed: another name"
    return problems


def _player_problems(
    config: ExperimentConfig, league: LeagueConfig, player: LearnerConfig
) -> Iterator[tuple[str, str]]:
    if player.initial is not None and player.initial not in league.initial_models:
        there = ", ".join(league.initial_models) or "none"
        yield "initial", f"no initial model named {player.initial!r}; there are: {there}"
    if isinstance(player.matchmaking, Pool) and player.matchmaking.pool not in league.pools:
        there = ", ".join(league.pools) or "none"
        yield "matchmaking.pool", f"no pool named {player.matchmaking.pool!r}; there are: {there}"
    if player.role == "main_exploiter" and not any(other.role == "main" for other in league.players.values()):
        yield "role", "got main_exploiter in a league without a player of role main; allowed: main, league_exploiter"
    if player.freeze_min_updates > player.freeze_every_updates:
        yield (
            "freeze_min_updates",
            f"got {player.freeze_min_updates}, allowed: at most freeze_every_updates, {player.freeze_every_updates}",
        )
    trainer = config.trainers.get(player.trainer)
    if trainer is not None and league.active_in(config.run.mode) and not trainer.active_in(config.run.mode):
        yield "trainer", f"trainer {player.trainer!r} does not exist in mode {config.run.mode}, allowed: one that does"
    if trainer is not None and trainer.active_in(config.run.mode) and not agents_of(config, trainer.model):
        yield "trainer", f"no agent asks its model {trainer.model!r}, allowed: a trainer whose model an agent plays"
