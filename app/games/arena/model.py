"""Entity attention for the arena (after Vaswani et al., 2017): any number of units and skills, in any order."""

import math

import torch
from torch import Tensor, nn

from app.games.arena.game import FIRST_SKILL, MAX_ACTIONS
from app.games.arena.observation import FEATURES, ROWS, UNITS
from app.models.distributions.categorical import Categorical
from app.models.module import PolicyOutput
from app.models.spec import ArraySpec, ModelSpec

PRESENT = FEATURES.index("present")
IS_SELF = FEATURES.index("is_self")


class ArenaPolicy(nn.Module):
    """Maps rows of units and skills, [B, ROWS, features], to logits of stay, moves and skills, and a value.

    The order of the units does not matter, and the logits of skills follow the order of their rows. Rows whose
    ``present`` is 0 have no influence at all, whatever they hold: their features are replaced by 0, attention and mean
    give them a weight of exactly 0, and the logit of an absent skill is 0.
    """

    def __init__(self, hidden: int, heads: int, layers: int) -> None:
        super().__init__()
        self.spec = ModelSpec(ArraySpec((ROWS, len(FEATURES))), Categorical(MAX_ACTIONS))
        self.embed = nn.Linear(len(FEATURES), hidden)
        self.blocks = nn.ModuleList(_Block(hidden, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(hidden)
        self.body = nn.Linear(2 * hidden, hidden)
        self.moves = nn.Linear(hidden, FIRST_SKILL)
        self.query = nn.Linear(hidden, hidden)
        self.value = nn.Linear(hidden, 1)
        for head in (self.moves, self.query):  # So that the first policy is nearly uniform.
            nn.init.orthogonal_(head.weight, 0.01)
            nn.init.zeros_(head.bias)

    def forward(self, observation: Tensor) -> PolicyOutput:
        """Returns logits [B, actions] and value [B]."""
        present = observation[..., PRESENT] > 0
        rows = torch.where(present[..., None], observation, 0.0)
        tokens = self.embed(rows)
        for block in self.blocks:
            tokens = block(tokens, present)
        tokens = torch.where(present[..., None], self.norm(tokens), 0.0)
        count = present.sum(dim=1, keepdim=True).clamp(min=1)
        mean = tokens.sum(dim=1) / count
        mine = (tokens * rows[..., IS_SELF, None]).sum(dim=1)
        context = torch.tanh(self.body(torch.cat([mine, mean], dim=-1)))
        skills = tokens[:, UNITS:] @ self.query(context)[..., None] / math.sqrt(tokens.shape[-1])
        logits = torch.cat([self.moves(context), skills.squeeze(-1)], dim=-1)
        return PolicyOutput(logits, self.value(context).squeeze(-1))


def build(hidden: int = 32, heads: int = 2, layers: int = 1) -> ArenaPolicy:
    """Returns an untrained policy.

    Args:
      hidden: Width of a row's embedding.
      heads: Attention heads; they divide ``hidden``.
      layers: Attention layers.

    Raises:
      ValueError: ``hidden`` is no multiple of ``heads``.
    """
    if hidden % heads:
        raise ValueError(f"hidden is {hidden} and heads {heads}; allowed is a multiple of heads")
    return ArenaPolicy(hidden, heads, layers)


class _Block(nn.Module):
    """Attention among the present rows, then a layer for each row, both added to what was there."""

    def __init__(self, hidden: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.LayerNorm(hidden)
        self.project = nn.Linear(hidden, 3 * hidden)
        self.merge = nn.Linear(hidden, hidden)
        self.row_norm = nn.LayerNorm(hidden)
        self.row = nn.Sequential(nn.Linear(hidden, 2 * hidden), nn.ReLU(), nn.Linear(2 * hidden, hidden))

    def forward(self, tokens: Tensor, present: Tensor) -> Tensor:
        """Returns tokens of the same shape, [B, N, hidden]."""
        tokens = tokens + self.merge(self._attend(self.attention_norm(tokens), present))
        added: Tensor = self.row(self.row_norm(tokens))
        return tokens + added

    def _attend(self, tokens: Tensor, present: Tensor) -> Tensor:
        batch, count, hidden = tokens.shape
        split = self.project(tokens).reshape(batch, count, 3, self.heads, hidden // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        scores = query @ key.transpose(-1, -2) / math.sqrt(hidden // self.heads)
        # The lowest finite number and not -inf: its weight is exactly 0 beside any present row, and where no row is
        # present (padding) the softmax stays finite.
        lowest = torch.finfo(scores.dtype).min
        weights = scores.masked_fill(~present[:, None, None, :], lowest).softmax(dim=-1)
        seen: Tensor = (weights @ value).transpose(1, 2).reshape(batch, count, hidden)
        return seen
