"""Choices among entities (after Vinyals et al., 2015), https://arxiv.org/abs/1506.03134: one score for each."""

import math

from torch import Tensor, nn

from app.models.networks.initial import orthogonal


class PointerHead(nn.Module):
    """Maps a context, [B, inputs], and entities, [B, N, hidden], to a score for each entity, [B, N].

    Scores follow the order of the entities, and there may be any number. An absent one, whose features are 0, scores 0:
    the action's mask is what forbids it.
    """

    def __init__(self, inputs: int, hidden: int, gain: float = 0.01) -> None:
        super().__init__()
        self.query = orthogonal(nn.Linear(inputs, hidden), gain)

    def forward(self, context: Tensor, entities: Tensor) -> Tensor:
        """Returns scores, [B, N]."""
        return pointer_scores(self.query(context), entities)


def pointer_scores(query: Tensor, entities: Tensor) -> Tensor:
    """Returns how well each entity, [B, N, hidden], fits a query, [B, hidden]: scaled products, [B, N]."""
    scores: Tensor = (entities @ query[..., None] / math.sqrt(entities.shape[-1])).squeeze(-1)
    return scores
