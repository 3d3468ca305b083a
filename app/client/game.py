"""One game after another in a fixed number of slots: sessions, sequence numbers, bodies; no I/O."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from itertools import count

from app.client.environments import ActionReader, BadActionError, Environments, Reward
from app.client.errors import StepFailedError
from app.client.result import Scores
from app.client.steps import FIRST_SEQ, START, STOP, TICK, StepItem


@dataclass(slots=True)
class Game:
    """One episode under way and the session that it is played in.

    Attributes:
      session: Id of the session, used for this game alone.
      episode: Index of the episode, which with the run's seed makes its seed.
      next_seq: ``seq`` of the next step.
      reward: Reward of the newest action, until a tick or stop has reported it; of several named ones, each by name.
      episode_return: Sum of the rewards so far, of named ones the sum of all.
      over: The environment has ended the episode: its stop is due.
    """

    session: str
    episode: int
    next_seq: int = FIRST_SEQ
    reward: Reward = 0.0
    episode_return: float = 0.0
    over: bool = False

    def start(self, options: Mapping[str, object]) -> StepItem:
        """Returns the step that opens the session."""
        return self._item(START, options)

    def tick(self, observation: object, action_mask: object = None) -> StepItem:
        """Returns the step that asks for an action, among those that the mask allows; None allows all."""
        mask = {} if action_mask is None else {"action_mask": action_mask}
        return self._item(TICK, {"observation": observation, "reward": self._reported_reward(), **mask})

    def stop(self, observation: object, *, terminated: bool, truncated: bool) -> StepItem:
        """Returns the step that closes the session; an observation of None is one that is not known."""
        seen = {} if observation is None else {"observation": observation}
        ended = {"reward": self._reported_reward(), "terminated": terminated, "truncated": truncated}
        return self._item(STOP, {**seen, **ended})

    def rewarded(self, reward: Reward, over: bool) -> None:
        """Takes in what the newest action brought."""
        self.reward = reward
        self.episode_return += sum(reward.values()) if isinstance(reward, Mapping) else reward
        self.over = over

    def _item(self, kind: str, body: object) -> StepItem:
        seq = self.next_seq
        self.next_seq = seq + 1
        return {"session": self.session, "kind": kind, "seq": seq, "body": body}

    def _reported_reward(self) -> Reward:
        reward, self.reward = self.reward, 0.0
        return reward


class Slot:
    """A place where one game after another is played.

    Slot i of n plays the episodes i, i + n, i + 2n, …: which games are played is settled beforehand, since the
    first to finish would be the short ones.
    """

    def __init__(self, index: int, slots: int, run: str, seed: int, episodes: int | None) -> None:
        self.index = index
        self.game: Game | None = None
        """The game under way; None between two games."""
        self._run = run
        self._seed = seed
        self._replays = episodes is not None
        self._upcoming: Iterator[int] = count(index, slots) if episodes is None else iter(range(index, episodes, slots))
        self._again: list[int] = []
        self._next = self._take()
        self._sessions = 0

    @property
    def finished(self) -> bool:
        """Tells whether all games of the slot are over."""
        return self.game is None and self._next is None

    def open(self, environments: Environments) -> Game | None:
        """Returns the next game, now under way; None while its environment is not ready, or without a next game."""
        episode = self._next
        if episode is None or not environments.restart(self.index, self._seed + episode):
            return None
        self.game = Game(f"{self._run}-{self.index}-{self._sessions}", episode)
        self._sessions += 1
        self._next = self._take()
        return self.game

    def fail(self, game: Game, failure: StepFailedError, scores: Scores) -> None:
        """Gives up a game; one of a fixed number will be replayed from its seed in a session of its own.

        Raises:
          StepFailedError: Playing on cannot help.
        """
        if self.game is game:
            self.game = None
        if self._replays:
            if self._next is not None:
                self._again.append(self._next)
            self._next = game.episode
        scores.fail(failure)

    def _take(self) -> int | None:
        return self._again.pop() if self._again else next(self._upcoming, None)


def stop_of(game: Game, environments: Environments, slot: int) -> StepItem:
    """Returns the stop of a game: with the flags of its environment, or truncated where that has not ended it."""
    return game.stop(
        deepcopy(environments.observations[slot]),  # The slot may be reset before the stop is sent.
        terminated=game.over and environments.terminated[slot],
        truncated=not game.over or environments.truncated[slot],
    )


def action_of(body: object, read: ActionReader) -> object:
    """Returns the action in the answer to a tick.

    Raises:
      BadActionError: There is none, or it does not fit the environment.
    """
    if not isinstance(body, dict) or "action" not in body:
        raise BadActionError(f'a tick is answered by {{"action": …}}, got {str(body)[:200]}')
    return read(body["action"])
