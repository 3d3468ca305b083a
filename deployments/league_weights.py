"""What a league's config names from elsewhere, set apart in the trial: opponents, and models to begin with."""

from collections.abc import Mapping

from app.config.active import agents_of
from app.config.league import LeagueConfig, Supplied
from app.config.root import ExperimentConfig
from app.errors import ModelMismatchError
from app.league.players import Weights
from app.models.pool import CLONES, Source
from app.stores.model_sources import ModelSources


def set_apart(
    config: ExperimentConfig, league: LeagueConfig, hashes: Mapping[str, str], sources: ModelSources
) -> tuple[LeagueConfig, dict[str, Weights]]:
    """Returns the league with an agent for each opponent, and the frozen clones that its references stand for.

    Args:
      config: With the components of its mode.
      league: Its league.
      hashes: Spec hash of each model.
      sources: Reads what is named.

    Raises:
      CheckpointError: There is no such model, its files are damaged, or a clone cannot be written.
      TrackingError: There is no such registered version, or MLflow does not answer.
      ModelMismatchError: It is of none of the models that could play it.
    """
    weights: dict[str, Weights] = {}

    def cloned(where: str, reference: str, models: list[str]) -> str:
        """Sets weights apart for the first of the models that they fit, and returns that."""
        source = sources.read(reference)
        model = _fitting(where, reference, source, {name: hashes[name] for name in models})
        clone = sources.pool.clone(source, model, frozen=True)
        weights[reference] = Weights(f"{CLONES}/{clone.id}", clone.hash)
        return model

    opponents: dict[str, Supplied] = {}
    for name, opponent in league.opponents.items():
        agent = opponent.agent
        if opponent.weights is not None:
            asked = None if agent is None else config.agents[agent].model
            models = [model for model in hashes if agents_of(config, model)] if asked is None else [asked]
            model = cloned(f"league.opponents.{name}.weights", opponent.weights, models)
            agent = agent or agents_of(config, model)[0]
        opponents[name] = opponent.model_copy(update={"agent": agent})
    for name, reference in league.initial_models.items():
        trainers = {player.trainer for player in league.players.values() if player.initial == name}
        for trainer in sorted(trainers):
            cloned(f"league.initial_models.{name}", reference, [config.trainers[trainer].model])
    return league.model_copy(update={"opponents": opponents}), weights


def _fitting(where: str, reference: str, source: Source, hashes: Mapping[str, str]) -> str:
    fitting = next((model for model, own in hashes.items() if own == source.saved.spec_hash), None)
    if fitting is None:
        there = ", ".join(f"{model} has {own}" for model, own in hashes.items()) or "no agent asks a model"
        raise ModelMismatchError(f"{where}: {reference} has the shapes {source.saved.spec_hash}; {there}")
    return fitting
