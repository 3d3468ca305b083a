"""Entity attention for the arena: any number of units and skills, in any order."""

import torch
from torch import Tensor, nn

from app.games.arena.game import FIRST_SKILL, MAX_ACTIONS
from app.games.arena.observation import FEATURES, ROWS, UNITS
from app.models.distributions.categorical import Categorical
from app.models.module import PolicyOutput
from app.models.networks.attention import AttentionBlock, mean_of_present
from app.models.networks.initial import orthogonal
from app.models.networks.pointer import pointer_scores
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
        self.blocks = nn.ModuleList(AttentionBlock(hidden, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(hidden)
        self.body = nn.Linear(2 * hidden, hidden)
        self.moves = nn.Linear(hidden, FIRST_SKILL)
        self.query = nn.Linear(hidden, hidden)
        self.value = nn.Linear(hidden, 1)
        for head in (self.moves, self.query):  # So that the first policy is nearly uniform.
            orthogonal(head, 0.01)

    def forward(self, observation: Tensor) -> PolicyOutput:
        """Returns logits [B, actions] and value [B]."""
        present = observation[..., PRESENT] > 0
        rows = torch.where(present[..., None], observation, 0.0)
        tokens = self.embed(rows)
        for block in self.blocks:
            tokens = block(tokens, present)
        tokens = torch.where(present[..., None], self.norm(tokens), 0.0)
        mine = (tokens * rows[..., IS_SELF, None]).sum(dim=1)
        context = torch.tanh(self.body(torch.cat([mine, mean_of_present(tokens, present)], dim=-1)))
        skills = pointer_scores(self.query(context), tokens[:, UNITS:])
        logits = torch.cat([self.moves(context), skills], dim=-1)
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
    return ArenaPolicy(hidden, heads, layers)
