import pytest
from pydantic import ValidationError

from app.config.serving import ActorConfig, AgentConfig
from app.types import Purpose


def actor(**changes: object) -> ActorConfig:
    return ActorConfig.model_validate({"agents": ["player"], **changes})


def test_replicas_are_fixed_and_listen_on_their_node_unless_told_otherwise() -> None:
    made = actor(replicas=3)
    assert (made.autoscaling, made.use_gateway, made.most_replicas) == (None, "node", 3)


def test_autoscaling_rules_in_the_place_of_replicas() -> None:
    assert actor(replicas=3, autoscaling={"max_replicas": 8}).most_replicas == 8


@pytest.mark.parametrize(
    "scaling",
    [
        {"min_replicas": 4, "max_replicas": 3},
        {"max_replicas": 3, "initial_replicas": 4},
        {"min_replicas": 2, "max_replicas": 3, "initial_replicas": 1},
    ],
)
def test_bounds_that_cross_are_refused_with_the_order_that_is_allowed(scaling: dict[str, int]) -> None:
    with pytest.raises(ValidationError, match="min_replicas <= initial_replicas <= max_replicas"):
        actor(autoscaling=scaling)


@pytest.mark.parametrize(
    ("key", "wrong"),
    [("min_replicas", 0), ("target_games", 0), ("target_busy", 0), ("target_busy", 1.1), ("upscale_delay_s", -1)],
)
def test_values_outside_their_bounds_are_refused(key: str, wrong: float) -> None:
    with pytest.raises(ValidationError, match=key):
        actor(autoscaling={"max_replicas": 9, key: wrong})


def test_a_target_above_what_a_replica_admits_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"target_games is 11, but .* limits.max_games 10"):
        actor(autoscaling={"max_replicas": 2, "target_games": 11}, limits={"max_games": 10})


def test_a_gateway_of_no_known_kind_is_refused() -> None:
    with pytest.raises(ValidationError, match="use_gateway"):
        actor(use_gateway="both")
    assert actor(use_gateway=None).use_gateway is None


def test_a_bound_on_partial_bodies_below_one_body_is_refused() -> None:
    with pytest.raises(ValidationError, match="would never come whole"):
        actor(connections={"max_partial_mb": 8})


def test_a_gateway_has_no_grpc_port() -> None:
    with pytest.raises(ValidationError, match="the gateway speaks no gRPC"):
        actor(grpc_port=50051, use_gateway="head")


def test_games_are_recorded_of_agents_with_and_without_a_model() -> None:
    recorded = AgentConfig.model_validate({"model": "main", "record": {"every": 10, "purposes": ["play"]}})
    assert recorded.record is not None
    assert recorded.record.purposes == (Purpose.PLAY,)
    assert AgentConfig.model_validate({"record": {"every": None, "keep_ticks": 5}}).record is not None
    with pytest.raises(ValidationError, match="String should match pattern"):
        AgentConfig.model_validate({"model": "main", "record": {"folder": "../elsewhere"}})


@pytest.mark.parametrize("path", ["", "a..b", ".a", "a b"])
def test_a_private_field_is_named_by_words_and_dots(path: str) -> None:
    with pytest.raises(ValidationError, match="pattern"):
        AgentConfig.model_validate({"record": {"private": {"hash": [path]}}})
