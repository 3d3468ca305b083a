import torch

from app.models.networks.mlp import Mlp


def test_layers_stand_one_behind_another() -> None:
    torch.manual_seed(0)
    network = Mlp(3, (5, 4), "relu")
    rows = torch.randn(7, 3)
    first, second = network.layers[0], network.layers[2]
    expected = (((rows @ first.weight.T).relu()) @ second.weight.T).relu()
    torch.testing.assert_close(network(rows), expected)
    assert network.outputs == 4


def test_without_layers_rows_pass_as_they_are() -> None:
    rows = torch.randn(7, 3)
    assert torch.equal(Mlp(3, ())(rows), rows)
    assert Mlp(3, ()).outputs == 3


def test_first_weights_are_orthogonal_where_wanted() -> None:
    for is_orthogonal in (True, False):
        layer = Mlp(4, (4,), is_orthogonal=is_orthogonal).layers[0]
        product = layer.weight @ layer.weight.T
        assert torch.allclose(product, 2 * torch.eye(4), atol=1e-5) == is_orthogonal
        assert bool(layer.bias.any()) != is_orthogonal
