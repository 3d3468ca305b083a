"""From the config of an algorithm to what its learner is told."""

from app.algorithms.actor_critic import ActorCritic
from app.algorithms.adversarial import AdversarialSettings
from app.algorithms.anchors import AnchorSettings
from app.algorithms.combined_estimators import OwnValueTargets, Upgoing
from app.algorithms.conservatism import Conservatism
from app.algorithms.critic_learner import CriticSettings, Rule
from app.algorithms.critic_rules import ImplicitQ, SoftActorCritic, TwinDelayed
from app.algorithms.estimators import Estimator, Gae, VTrace
from app.algorithms.imitation import Cloning
from app.algorithms.learner import PolicySettings
from app.algorithms.passes import SequenceSettings
from app.algorithms.ppo import ClippedPolicy
from app.algorithms.q_learner import QSettings
from app.algorithms.rewards import RewardSettings
from app.algorithms.schedules import Line
from app.algorithms.shaping import make_shaping
from app.algorithms.target_network import TargetSettings
from app.algorithms.traced_critics import Retrace
from app.algorithms.trpo import TrpoSettings
from app.algorithms.trust_region import TrustRegion
from app.algorithms.value_heads import Head, Heads, PerHead
from app.algorithms.vtrace import Clips
from app.algorithms.worth import PolicyLoss
from app.config.algorithms import (
    A2c,
    AlphaZero,
    Appo,
    Bc,
    Clipped,
    Gail,
    Impala,
    Marwil,
    Traced,
    TrajectoryAlgorithm,
)
from app.config.from_trajectories import Online, OwnGames, Sequential, ValueHead
from app.config.off_policy import Cql, Ddpg, Dqn, FromTransitions, Iql, Sac, Td3
from app.config.rewards import RewardsConfig
from app.config.training import TrainInput
from app.config.trust_region import Trpo


def policy_settings(algorithm: TrajectoryAlgorithm, minibatches: int, rewards: tuple[str, ...] = ()) -> PolicySettings:
    """Returns how an algorithm learns from rows of trajectories.

    Args:
      algorithm: Its config.
      minibatches: Optimizer steps of one epoch.
      rewards: Names of the model's rewards; none where it has one.
    """
    return PolicySettings(
        estimator=_estimator(algorithm, rewards),
        loss=_loss(algorithm),
        normalise=isinstance(algorithm, Clipped) or (isinstance(algorithm, A2c) and algorithm.normalise_advantage),
        epochs=algorithm.epochs,
        minibatches=minibatches,
        sequences=sequence_settings(algorithm),
        largest_kl=algorithm.largest_kl if isinstance(algorithm, Clipped) else None,
        running_scale=algorithm.scale_share if isinstance(algorithm, Marwil) else None,
        anchors=_anchors(algorithm),
        towards_target=isinstance(algorithm, AlphaZero),
        heads=_heads(algorithm, rewards),
    )


def trpo_settings(algorithm: Trpo, minibatches: int, rewards: tuple[str, ...] = ()) -> TrpoSettings:
    """Returns how TRPO learns.

    Args:
      algorithm: Its config.
      minibatches: The critic's optimizer steps of one epoch.
      rewards: Names of the model's rewards; none where it has one.
    """
    return TrpoSettings(
        estimator=_estimator(algorithm, rewards),
        region=TrustRegion(
            algorithm.max_kl, algorithm.cg_steps, algorithm.damping, algorithm.line_search_steps,
            algorithm.line_search_shrink,
        ),
        entropy_coef=algorithm.entropy_coef,
        value_coef=algorithm.value_coef,
        epochs=algorithm.epochs,
        minibatches=minibatches,
        sequences=sequence_settings(algorithm),
        heads=_heads(algorithm, rewards),
    )  # fmt: skip


def sequence_settings(algorithm: Sequential) -> SequenceSettings:
    """Returns how trajectories are cut for a network with a state."""
    return SequenceSettings(algorithm.sequence_ticks, algorithm.burn_in_ticks)


def reward_settings(wanted: TrainInput, names: tuple[str, ...] = ()) -> RewardSettings | None:
    """Returns what becomes of the rewards of an input before it learns from them; None: nothing.

    Args:
      wanted: The input.
      names: Of the model's rewards, which are told apart whatever becomes of them; none where it has one.

    Raises:
      PluginError: The hook that the config names cannot be made.
    """
    if wanted.rewards is None and not names:
        return None
    rewards = RewardsConfig() if wanted.rewards is None else wanted.rewards
    shaping = None if rewards.shaping is None else make_shaping(rewards.shaping.factory, rewards.shaping.kwargs)
    gamma = 1.0 if wanted.reward_gamma is None else wanted.reward_gamma  # Then nothing asks for it.
    heads = wanted.algorithm.heads if isinstance(wanted.algorithm, OwnGames) and rewards.gamma is None else {}
    gammas = [heads[name].gamma if name in heads else None for name in names]
    own = tuple(gamma if one is None else one for one in gammas)
    return RewardSettings(gamma, own, shaping, rewards.normalise, rewards.largest)


def adversarial_settings(algorithm: Gail, minibatches: int) -> AdversarialSettings:
    """Returns how a discriminator learns, and what it pays.

    Args:
      algorithm: Its config.
      minibatches: Optimizer steps of one of its epochs.
    """
    own = algorithm.discriminator
    return AdversarialSettings(algorithm.reward, own.epochs, minibatches, own.learning_rate, own.label_smoothing)


def q_settings(algorithm: Dqn | Cql, minibatches: int) -> QSettings:
    """Returns how an algorithm learns values of actions from transitions.

    Args:
      algorithm: Its config.
      minibatches: Optimizer steps of an update.
    """
    never = Line(0.0, 0.0, 1)
    explores = algorithm.epsilon if isinstance(algorithm, Dqn) else None
    return QSettings(
        target=target_settings(algorithm),
        double=algorithm.double,
        huber_delta=algorithm.huber_delta,
        epsilon=never if explores is None else Line(explores.first, explores.last, explores.updates),
        minibatches=minibatches,
        gamma=algorithm.gamma,
        conservative_coef=algorithm.conservative_coef if isinstance(algorithm, Cql) else 0.0,
    )


def critic_settings(algorithm: Sac | Td3 | Ddpg | Iql, minibatches: int) -> CriticSettings:
    """Returns how an algorithm with critics learns.

    Args:
      algorithm: Its config.
      minibatches: Optimizer steps of an update.
    """
    rule, trace = critic_rule(algorithm), None
    if isinstance(algorithm, Sac) and algorithm.retrace_lambda is not None and isinstance(rule, SoftActorCritic):
        trace = Retrace(rule, algorithm.retrace_lambda)
    return CriticSettings(rule, target_settings(algorithm), minibatches, algorithm.gamma, trace)


def critic_rule(algorithm: Sac | Td3 | Ddpg | Iql) -> Rule:
    """Returns what an algorithm with critics minimises."""
    match algorithm:
        case Sac():
            coef, actions = algorithm.conservative_coef, algorithm.conservative_actions
            conservative = Conservatism(coef, actions) if coef else None
            return SoftActorCritic(algorithm.target_entropy, algorithm.entropy_share, conservative)
        case Td3():
            return TwinDelayed(algorithm.policy_every_steps, algorithm.target_noise, algorithm.target_noise_clip)
        case Ddpg():
            return TwinDelayed(policy_every_steps=1, target_noise=0.0, target_noise_clip=0.5)
        case Iql():
            return ImplicitQ(algorithm.expectile, algorithm.advantage_scale, algorithm.largest_weight)


def target_settings(algorithm: FromTransitions) -> TargetSettings:
    """Returns how an algorithm's target networks follow."""
    return TargetSettings(algorithm.target_every_updates, algorithm.target_rate)


def _heads(algorithm: TrajectoryAlgorithm | Trpo, rewards: tuple[str, ...]) -> Heads:
    if not isinstance(algorithm, OwnGames):
        return ()
    return tuple(Head(name, algorithm.heads[name].weight) for name in rewards)


def _estimator(algorithm: TrajectoryAlgorithm | Trpo, rewards: tuple[str, ...]) -> Estimator:
    if isinstance(algorithm, OwnGames) and rewards:
        return PerHead(tuple(_of_one(_for_head(algorithm, algorithm.heads[name])) for name in rewards))
    return _of_one(algorithm)


def _for_head(algorithm: TrajectoryAlgorithm | Trpo, head: ValueHead) -> TrajectoryAlgorithm | Trpo:
    """Returns an algorithm with the discounts of a head."""
    mixing = "trace_lambda" if isinstance(algorithm, Traced) else "gae_lambda"
    wanted = {"gamma": head.gamma, mixing: head.advantage_lambda}
    return algorithm.model_copy(update={name: x for name, x in wanted.items() if x is not None})


def _of_one(algorithm: TrajectoryAlgorithm | Trpo) -> Estimator:
    found = _advantages(algorithm)
    if isinstance(algorithm, OwnGames):
        if algorithm.upgo_coef:
            found = Upgoing(found, algorithm.gamma, algorithm.upgo_coef)
        if algorithm.value_lambda is not None:
            found = OwnValueTargets(found, algorithm.gamma, algorithm.value_lambda)
    return found


def _anchors(algorithm: TrajectoryAlgorithm) -> AnchorSettings:
    if not isinstance(algorithm, Online):
        return AnchorSettings()
    teacher = algorithm.teacher
    line = None if teacher is None else Line(teacher.first, teacher.last, teacher.updates)
    return AnchorSettings(line, algorithm.first_policy_coef)


def _advantages(algorithm: TrajectoryAlgorithm | Trpo) -> Estimator:
    if isinstance(algorithm, Impala | Appo):
        clips = Clips(rho=algorithm.rho_clip, c=algorithm.c_clip)
        return VTrace(algorithm.gamma, algorithm.trace_lambda, clips)
    return Gae(algorithm.gamma, algorithm.gae_lambda)


def _loss(algorithm: TrajectoryAlgorithm) -> PolicyLoss:
    match algorithm:
        case Clipped():
            return ClippedPolicy(
                algorithm.clip_epsilon, algorithm.value_coef, algorithm.entropy_coef, algorithm.dual_clip,
                algorithm.value_clip,
            )  # fmt: skip
        case A2c() | Impala():
            return ActorCritic(algorithm.value_coef, algorithm.entropy_coef)
        case Marwil():
            scale, largest = algorithm.advantage_scale, algorithm.largest_weight
            return Cloning(scale, largest, algorithm.value_coef, algorithm.entropy_coef)
        case Bc() | AlphaZero():
            return Cloning(0.0, 1.0, algorithm.value_coef, algorithm.entropy_coef)
