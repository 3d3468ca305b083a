"""How Serve runs each deployment: replicas, routing, health, and the way of an update."""

from typing import Any, Final

from ray.serve.config import AutoscalingConfig, AutoscalingPolicy

from app.config.base import Process
from app.config.models import ModelConfig
from app.config.serving import ActorConfig, Autoscaling
from app.config.slots import GATEWAY_CPUS
from app.stores.host import ON_HEAD

MAX_ONGOING: Final = 1_000
"""Requests that Serve lets into one replica at a time; its default of 5 would throttle."""
SURGE_PERCENT: Final = 100
"""New replicas of an update, as a share of all, that start before old ones end: games need somewhere to go. Where the
cluster has room for fewer, the others wait for the place of an old one."""
WAIT_LOOP_S: Final = 0.1
"""Seconds between two looks of a replica that ends for requests under way; the default of 2 is lost time."""
HEALTH_PERIOD_S: Final = 2.0
"""Seconds between two health checks, and so the time after which Serve replaces a killed replica."""
HEALTH_TIMEOUT_S: Final = 30.0
"""Longest health check: an agent that blocks its loop for some seconds must not cost the games beside it."""
ROUTING_STATS_PERIOD_S: Final = 2.0
"""Seconds between two reports of a replica's load to Serve's routers."""
METRICS_INTERVAL_S: Final = 1.0
"""Seconds between two reports of a replica's load to the autoscaler; the default of 10 would add to every delay."""
LOOK_BACK_S: Final = 3.0
"""Seconds of reports that the autoscaler keeps; ours reads the newest, and Serve takes five in this time."""
MODEL_GRACE_S: Final = 10.0
"""Longest wait for a model replica's last batches."""


def actor_options(actor: ActorConfig) -> dict[str, Any]:
    """Returns the options of an actor's deployment."""
    scaling = actor.autoscaling
    return {
        **({"num_replicas": actor.replicas} if scaling is None else {"autoscaling_config": _autoscaling(scaling)}),
        **_updates(actor.drain_timeout_s),
        "request_router_config": {
            "request_router_class": "deployments.router:GameRouter",
            "request_routing_stats_period_s": ROUTING_STATS_PERIOD_S,
        },
        "ray_actor_options": _resources(actor),
    }


def gateway_options(actor: ActorConfig) -> dict[str, Any]:
    """Returns the options of the deployment that listens for an actor on the head node."""
    resources = {"num_cpus": GATEWAY_CPUS, "resources": ON_HEAD}
    return {"num_replicas": 1, **_updates(actor.drain_timeout_s), "ray_actor_options": resources}


def model_options(model: ModelConfig) -> dict[str, Any]:
    """Returns the options of a remote model's deployment."""
    return {
        "num_replicas": model.replicas,
        **_updates(MODEL_GRACE_S),
        "logging_config": {"enable_access_log": False},  # Else a line a call.
        "ray_actor_options": _resources(model),
    }


def _autoscaling(scaling: Autoscaling) -> AutoscalingConfig:
    kwargs = {"target_games": scaling.target_games, "target_busy": scaling.target_busy}
    policy = AutoscalingPolicy(policy_function="deployments.autoscaling:LiveGames", policy_kwargs=kwargs)  # type: ignore[no-untyped-call]
    return AutoscalingConfig(
        min_replicas=scaling.min_replicas,
        initial_replicas=scaling.initial_replicas,
        max_replicas=scaling.max_replicas,
        upscale_delay_s=scaling.upscale_delay_s,
        downscale_delay_s=scaling.downscale_delay_s,
        metrics_interval_s=METRICS_INTERVAL_S,
        look_back_period_s=LOOK_BACK_S,
        policy=policy,
    )


def _updates(drain_s: float) -> dict[str, Any]:
    return {
        "max_ongoing_requests": MAX_ONGOING,
        "max_surge_percent": SURGE_PERCENT,
        "graceful_shutdown_timeout_s": drain_s,
        "graceful_shutdown_wait_loop_s": WAIT_LOOP_S,
        "health_check_period_s": HEALTH_PERIOD_S,
        "health_check_timeout_s": HEALTH_TIMEOUT_S,
    }


def _resources(process: Process) -> dict[str, object]:
    memory = None if process.memory_mb is None else process.memory_mb * 2**20
    return {"num_cpus": process.num_cpus, "num_gpus": process.num_gpus, "memory": memory}
