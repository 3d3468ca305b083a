import pytest
import torch

from app.models.networks.cnn import Cnn, Filters


def test_the_papers_filters_make_3136_numbers_of_an_atari_image() -> None:
    network = Cnn((4, 84, 84))
    assert network.layers[-2].in_features == 3136
    assert network(torch.zeros(2, 4, 84, 84, dtype=torch.uint8)).shape == (2, 512)


def test_bytes_are_scaled_and_numbers_are_not() -> None:
    torch.manual_seed(0)
    network = Cnn((1, 6, 8), (Filters(3, 3, 2),), 5)
    image = torch.randint(0, 256, (2, 1, 6, 8), dtype=torch.uint8)
    torch.testing.assert_close(network(image), network(image.double() / 255))
    assert not torch.allclose(network(image), network(image.float()))


def test_an_image_that_is_too_small_is_refused() -> None:
    with pytest.raises(ValueError, match=r"an image of \(3, 20, 84\) is too small for the filters"):
        Cnn((3, 20, 84))
