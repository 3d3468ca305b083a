"""Two-player zero-sum games with hidden information in sequence form (von Stengel, 1996), read from OpenSpiel's trees.

A player is a pair of realization plans, one a seat: how probable its own choices make each of its sequences. Plans of
mixtures are the weighted sums of plans, and a best response is one pass over own sequences, so both are exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyspiel
from numpy.typing import NDArray
from open_spiel.python.algorithms.exploitability import nash_conv
from open_spiel.python.policy import TabularPolicy

Plan = NDArray[np.float64]
"""Realization probability of each sequence of one seat, [sequences]; the empty one first."""
Plans = tuple[Plan, Plan]


@dataclass(slots=True)
class Tree:
    """The sequences of one seat. Information sets stand behind those that lead to them."""

    parents: list[int] = field(default_factory=list)
    """Sequence that leads to each information set."""
    children: list[dict[int, int]] = field(default_factory=list)
    """Sequence behind each action of each information set."""
    places: dict[str, int] = field(default_factory=dict)
    """Place of each information set by OpenSpiel's name."""
    sequences: int = 1

    def information_set(self, state: pyspiel.State, parent: int) -> dict[int, int]:
        """Returns the sequences behind an information set, which is added where it is new."""
        name = state.information_state_string()
        if name not in self.places:
            actions = state.legal_actions()
            self.places[name] = len(self.parents)
            self.parents.append(parent)
            self.children.append({action: self.sequences + at for at, action in enumerate(actions)})
            self.sequences += len(actions)
        return self.children[self.places[name]]

    def uniform(self) -> Plan:
        """Returns the plan of who takes each action equally often."""
        plan = np.ones(self.sequences)
        for parent, children in zip(self.parents, self.children, strict=True):
            plan[list(children.values())] = plan[parent] / len(children)
        return plan

    def best_response(self, gains: NDArray[np.float64]) -> Plan:
        """Returns the pure plan with the largest sum of what its sequences gain, [sequences]."""
        worth, chosen = gains.copy(), [0] * len(self.parents)
        for at in range(len(self.parents) - 1, -1, -1):
            ways = list(self.children[at].values())
            chosen[at] = ways[int(np.argmax(worth[ways]))]
            worth[self.parents[at]] += worth[chosen[at]]
        plan = np.zeros(self.sequences)
        plan[0] = 1
        for at, parent in enumerate(self.parents):
            plan[chosen[at]] = plan[parent]
        return plan


class SequenceGame:
    """One of OpenSpiel's games."""

    def __init__(self, name: str) -> None:
        """Walks through the whole tree of a game."""
        self._game = pyspiel.load_game(name)
        self._trees = (Tree(), Tree())
        ends: list[tuple[int, int, float]] = []
        self._walk(self._game.new_initial_state(), (0, 0), 1.0, ends)
        self._payoff = np.zeros((self._trees[0].sequences, self._trees[1].sequences))
        for first, second, gain in ends:
            self._payoff[first, second] += gain
        self._largest = float(self._game.max_utility())

    def first(self) -> Plans:
        """Returns who takes each action equally often."""
        return self._trees[0].uniform(), self._trees[1].uniform()

    def mixed(self, players: Sequence[Plans], weights: NDArray[np.float64]) -> Plans:
        """Returns who plays a whole game like one of the players, drawn with the weights."""
        firsts, seconds = zip(*players, strict=True)
        return weights @ np.stack(firsts), weights @ np.stack(seconds)

    def best_response(self, player: Plans) -> Plans:
        """Returns who wins most from a player, in either seat."""
        return (
            self._trees[0].best_response(self._payoff @ player[1]),
            self._trees[1].best_response(-(player[0] @ self._payoff)),
        )

    def value(self, first: Plan, second: Plan) -> float:
        """Returns what the first seat wins."""
        return float(first @ self._payoff @ second)

    def scores(self, player: Plans, others: Sequence[Plans]) -> NDArray[np.float64]:
        """Returns the expected scores of matches over both seats, in [0, 1], [N]; 0.5 against equals."""
        firsts, seconds = zip(*others, strict=True)
        gains = np.stack(seconds) @ (player[0] @ self._payoff) - np.stack(firsts) @ (self._payoff @ player[1])
        return 0.5 + gains / (4 * self._largest)

    def exploitability(self, player: Plans) -> float:
        """Returns the NashConv by OpenSpiel: what best responses win from both seats together."""
        policy = TabularPolicy(self._game)
        for tree, plan in zip(self._trees, player, strict=True):
            for name, at in tree.places.items():
                for action, sequence in tree.children[at].items():
                    reached = plan[tree.parents[at]]
                    share = plan[sequence] / reached if reached > 0 else 1 / len(tree.children[at])
                    policy.action_probability_array[policy.state_lookup[name], action] = share
        return float(nash_conv(self._game, policy))

    def own_exploitability(self, player: Plans) -> float:
        """Returns the NashConv by this file's best responses."""
        answer = self.best_response(player)
        return self.value(answer[0], player[1]) - self.value(player[0], answer[1])

    def _walk(
        self, state: pyspiel.State, reached: tuple[int, int], chance: float, ends: list[tuple[int, int, float]]
    ) -> None:
        if state.is_terminal():
            ends.append((*reached, chance * state.returns()[0]))
        elif state.is_chance_node():
            for action, probability in state.chance_outcomes():
                self._walk(state.child(action), reached, chance * probability, ends)
        else:
            seat = state.current_player()
            for action, sequence in self._trees[seat].information_set(state, reached[seat]).items():
                following = (sequence, reached[1]) if seat == 0 else (reached[0], sequence)
                self._walk(state.child(action), following, chance, ends)
