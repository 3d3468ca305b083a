"""What Serve is asked for, read back from Serve's own deployments."""

from ray import serve

from app.config.models import ModelConfig
from app.config.serving import ActorConfig
from deployments.gateway_replica import GatewayReplica
from deployments.options import actor_options, gateway_options, model_options
from deployments.router import GameRouter


def actor(**changes: object) -> ActorConfig:
    return ActorConfig.model_validate({"agents": ["player"], **changes})


def deployed(options: dict[str, object]) -> "serve.Deployment":
    made: serve.Deployment = serve.deployment(GatewayReplica).options(name="any", **options)
    return made


def test_a_fixed_actor_has_its_replicas_and_our_router() -> None:
    made = deployed(actor_options(actor(replicas=3, drain_timeout_s=12, num_cpus=0.5, memory_mb=64)))
    config = made._deployment_config
    assert (made.num_replicas, config.autoscaling_config) == (3, None)
    assert config.graceful_shutdown_timeout_s == 12
    assert config.request_router_config.get_request_router_class().__name__ == GameRouter.__name__
    assert made.ray_actor_options == {"num_cpus": 0.5, "num_gpus": 0.0, "memory": 64 * 2**20}


def test_every_update_starts_the_new_before_it_ends_the_old() -> None:
    for options in (
        actor_options(actor()),
        gateway_options(actor()),
        model_options(ModelConfig(factory="a:b", placement="remote")),
    ):
        assert deployed(options)._deployment_config.max_surge_percent == 100


def test_autoscaling_takes_the_place_of_fixed_replicas() -> None:
    scaling = {"min_replicas": 2, "max_replicas": 5, "target_games": 8, "downscale_delay_s": 3}
    made = deployed(actor_options(actor(replicas=9, autoscaling=scaling)))._deployment_config.autoscaling_config
    assert made is not None
    assert (made.min_replicas, made.initial_replicas, made.max_replicas) == (2, None, 5)
    assert (made.upscale_delay_s, made.downscale_delay_s) == (5, 3)
    policy = made.policy.get_policy()(**made.policy.policy_kwargs)
    assert policy._targets == {"games": 8}


def test_a_gateway_lies_on_the_head_node() -> None:
    made = deployed(gateway_options(actor(use_gateway="head")))
    assert made.num_replicas == 1
    assert made.ray_actor_options == {"num_cpus": 0.1, "resources": {"node:__internal_head__": 0.001}}
