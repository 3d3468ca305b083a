"""Learns by GAIL in this process: games pay nothing, and an expert's games are all that tells good from bad."""

from dataclasses import replace
from typing import Any

import gymnasium

from .learning import Learning, Proof

NEVER = 1e9
"""Mean return of training games at which nothing is evaluated before the end; here they return nothing."""
EXPERT = "{{kind: factory, factory: 'tests.proofs.experts:Demonstrations', kwargs: {{games: {}, seed: 1}}}}"


class Unpaid(gymnasium.RewardWrapper[Any, Any]):
    """A game without rewards."""

    def reward(self, reward: object) -> float:
        """Returns 0, whatever the game pays."""
        return 0.0


def imitated(config: str, seed: int, expert_games: int, env_steps: int, *, evaluations: int = 1) -> Proof:
    """Returns what evaluated games gave after games that paid nothing; its curve is that of evaluated games.

    Args:
      config: Name of a shipped file; the expert's games take the place of its source.
      seed: In place of the file's.
      expert_games: Games of the expert.
      env_steps: Ticks played at most.
      evaluations: How often games are evaluated on the way; learning ends where they reach the config's goal.
    """
    changes = (f"sources.played={EXPERT.format(expert_games)}", "trainers.main.inputs.0.algorithm.expert=played")
    learning = Learning(config, seed, lambda: Unpaid(gymnasium.make("CartPole-v1")), changes)
    learning.make_env = lambda: gymnasium.make("CartPole-v1")  # Of games that are evaluated.
    curve: list[tuple[int, float]] = []
    seconds = 0.0
    for part in range(evaluations):
        proof = learning.run(env_steps * (part + 1) // evaluations, NEVER)
        curve.append((proof.env_steps, proof.mean_return))
        seconds += proof.seconds
        if proof.mean_return >= learning.goal:
            break
    return replace(proof, curve=tuple(curve), seconds=seconds)
