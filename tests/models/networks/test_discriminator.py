import torch

from app.algorithms.normalising import observe
from app.models.module import spec_of
from app.models.networks.discriminator import build
from tests.small_policy import Adder, small_policy


def test_any_observation_and_action_has_its_discriminator() -> None:
    network = build(spec_of(Adder()), hidden=[4])
    observation = {"step": torch.ones(3, 1), "seen": (torch.ones(3, 2, dtype=torch.uint8), torch.ones(3))}
    action = {"go": torch.ones(3, 2), "pick": (torch.tensor([0, 1, 2]), torch.tensor([0, 1, 0]))}
    assert network(observation, action).shape == (3,)
    assert network.trunk.layers[0].in_features == 1 + 2 + 1 + 2 + 3 + 2


def test_states_come_to_the_scale_of_those_that_it_has_seen_and_choices_are_ones_among_zeros() -> None:
    network = build(spec_of(small_policy(actions=3)), hidden=[])
    observe(network, [torch.tensor([[10.0, 5.0], [14.0, 5.0]])], torch.ones(2), lambda x: x)
    with torch.no_grad():
        network.head.weight.copy_(torch.tensor([[1.0, 0.0, 10.0, 20.0, 30.0]]))
        network.head.bias.zero_()
        got = network(torch.tensor([[14.0, 5.0], [10.0, 5.0]]), torch.tensor([2, 0]))
    torch.testing.assert_close(got, torch.tensor([31.0, 9.0]))  # Mean 12, deviation 2.


def test_bytes_of_images_become_shares() -> None:
    network = build(spec_of(Adder()), hidden=[])
    with torch.no_grad():
        network.head.weight.fill_(1.0)  # What is asked is the sum of all numbers.
        network.head.bias.zero_()
        seen = {"step": torch.zeros(1, 1), "seen": (torch.tensor([[51, 0]], dtype=torch.uint8), torch.zeros(1))}
        nothing = torch.zeros(1, dtype=torch.int64)
        got = network(seen, {"go": torch.zeros(1, 2), "pick": (nothing, nothing)})
    torch.testing.assert_close(got, torch.tensor([51 / 255 + 2]))  # And a 1 for each choice.
