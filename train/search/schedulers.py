"""From the config of a scheduler to Ray Tune's."""

from ray.tune.schedulers import (
    ASHAScheduler,
    FIFOScheduler,
    HyperBandScheduler,
    MedianStoppingRule,
    PopulationBasedTraining,
    TrialScheduler,
)

from app.config.search import Asha, HyperBand, Median, Pbt, SearchConfig
from train.search.space import changed, within
from train.search.trial import UPDATES


def make_scheduler(search: SearchConfig) -> TrialScheduler:
    """Returns the scheduler of a search; its time is counted in updates."""
    match search.scheduler:
        case Asha(grace_updates=grace, reduction_factor=factor, brackets=brackets):
            return ASHAScheduler(
                UPDATES, max_t=search.updates, grace_period=grace, reduction_factor=factor, brackets=brackets
            )
        case HyperBand(reduction_factor=factor):
            return HyperBandScheduler(UPDATES, max_t=search.updates, reduction_factor=factor)
        case Median(grace_updates=grace, min_trials=trials):
            return MedianStoppingRule(UPDATES, grace_period=grace, min_samples_required=trials)
        case Pbt() as pbt:
            return PopulationBasedTraining(
                UPDATES,
                perturbation_interval=pbt.every_updates,
                hyperparam_mutations=dict(changed(search)),
                quantile_fraction=pbt.quantile,
                resample_probability=pbt.resample_probability,
                perturbation_factors=pbt.factors,
                custom_explore_fn=lambda values: within(search, values),  # Ray's own factors leave the range.
                log_config=False,
            )
        case None:
            return FIFOScheduler()  # type: ignore[no-untyped-call]
