"""Attention among entities (after Vaswani et al., 2017), https://arxiv.org/abs/1706.03762: any number, in any order."""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn


class AttentionBlock(nn.Module):
    """Attention among the present rows, then a layer for each row, both added to what was there.

    An absent row gets a weight of exactly 0 beside any present one.
    """

    def __init__(self, hidden: int, heads: int) -> None:
        """Makes the layers.

        Args:
          hidden: Width of a row.
          heads: Attention heads; they divide ``hidden``.

        Raises:
          ValueError: ``hidden`` is no multiple of ``heads``.
        """
        super().__init__()
        if hidden % heads:
            raise ValueError(f"hidden is {hidden} and heads {heads}; allowed is a multiple of heads")
        self.heads = heads
        self.attention_norm = nn.LayerNorm(hidden)
        self.project = nn.Linear(hidden, 3 * hidden)
        self.merge = nn.Linear(hidden, hidden)
        self.row_norm = nn.LayerNorm(hidden)
        self.row = nn.Sequential(nn.Linear(hidden, 2 * hidden), nn.ReLU(), nn.Linear(2 * hidden, hidden))

    def forward(self, tokens: Tensor, present: Tensor) -> Tensor:
        """Returns tokens of the same shape, [B, N, hidden], for tokens and whether each is there, bool [B, N]."""
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


class Entities(NamedTuple):
    """What a number of entities look like."""

    tokens: Tensor
    """Features of each entity, [B, N, outputs]; 0 where it is absent."""
    mean: Tensor
    """Features of all that are present, [B, outputs]; 0 where none is."""


class EntityEncoder(nn.Module):
    """Maps rows of entities, [B, N, features], and whether each is there, [B, N], to features of each and of all.

    What an absent row holds has no influence at all, whatever it is.
    """

    def __init__(self, features: int, hidden: int, heads: int, layers: int) -> None:
        """Makes the layers.

        Args:
          features: Numbers of an entity.
          hidden: Width of its embedding.
          heads: Attention heads; they divide ``hidden``.
          layers: Attention blocks.

        Raises:
          ValueError: ``hidden`` is no multiple of ``heads``.
        """
        super().__init__()
        self.embed = nn.Linear(features, hidden)
        self.blocks = nn.ModuleList(AttentionBlock(hidden, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(hidden)
        self.outputs = hidden

    def forward(self, rows: Tensor, present: Tensor) -> Entities:
        """Returns features of each entity and of all."""
        tokens: Tensor = self.embed(torch.where(present[..., None], rows, 0.0))
        for block in self.blocks:
            tokens = block(tokens, present)
        tokens = torch.where(present[..., None], self.norm(tokens), 0.0)
        return Entities(tokens, mean_of_present(tokens, present))


def mean_of_present(tokens: Tensor, present: Tensor) -> Tensor:
    """Returns the mean over the present rows, [B, hidden], of tokens [B, N, hidden] that are 0 where absent."""
    mean: Tensor = tokens.sum(dim=1) / present.sum(dim=1, keepdim=True).clamp(min=1)
    return mean
