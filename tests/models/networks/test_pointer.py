import math

import torch

from app.models.networks.pointer import PointerHead, pointer_scores


def test_a_score_is_the_scaled_product_of_query_and_entity() -> None:
    query, entities = torch.tensor([[1.0, 2.0]]), torch.tensor([[[3.0, 4.0], [0.0, 0.0], [-1.0, 1.0]]])
    torch.testing.assert_close(pointer_scores(query, entities), torch.tensor([[11.0, 0.0, 1.0]]) / math.sqrt(2))


def test_any_number_of_entities_is_scored_in_their_order() -> None:
    torch.manual_seed(0)
    head, context, entities = PointerHead(4, 5), torch.randn(2, 4), torch.randn(2, 7, 5)
    scores = head(context, entities)
    assert scores.shape == (2, 7)
    torch.testing.assert_close(head(context, entities[:, :3]), scores[:, :3])
    torch.testing.assert_close(head(context, entities.flip(1)), scores.flip(1))
