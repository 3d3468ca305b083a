"""From a model file of Stable-Baselines3 to a network of ours with the same outputs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor

from app.errors import ConfigError
from app.models.distributions.gaussian import LOG_STD_MAX, LOG_STD_MIN
from train.porting.archive import Sb3Archive
from train.porting.encoding import Encoding, Layer, Tensors, chain, encode, linear, under
from train.porting.spaces import Done, Observation, Seen, read_action, read_observation

ACTIVATIONS: Final = {"Tanh": "tanh", "ReLU": "relu", "SiLU": "silu"}
EXTRACTORS: Final = ("FlattenExtractor", "NatureCNN", "CombinedExtractor")
SAC_LOG_STD_MAX: Final = 2.0
"""Where Stable-Baselines3 clamps the logarithm of SAC's deviations."""


@dataclass(frozen=True, slots=True)
class Ported:
    """A network of ours.

    Attributes:
      algorithm: What trained it there.
      kwargs: Of ``app.models.networks.policy:build``.
      tensors: Its weights under our names.
      notes: What is not the same, or is to be known.
    """

    algorithm: str
    kwargs: dict[str, Any]
    tensors: Tensors
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """What a network is made of."""

    archive: Sb3Archive
    observation: Observation
    action: Done

    def encoding(self, extractor: str, layers: Sequence[Layer], default: str) -> Encoding:
        """Returns an encoder of ours for an extractor by its name and the layers behind it.

        Args:
          extractor: Its name there.
          layers: Behind it.
          default: Activation where the file names none.

        Raises:
          ConfigError: It is none of Stable-Baselines3's own, or has another activation than we have.
        """
        scales = self.settings.get("normalize_images", True) is not False
        own = under(self.archive.tensors, f"{extractor}.")
        return encode(self.observation, own, layers, self._activation(default), scales=scales)

    def kwargs(self, action: Mapping[str, Any] | Sequence[Any], **network: Any) -> dict[str, Any]:
        """Returns arguments of our factory."""
        seen = self.observation
        described = (
            seen.described() if isinstance(seen, Seen) else {name: one.described() for name, one in seen.items()}
        )
        return {"observation": described, "action": action, **network}

    @property
    def settings(self) -> Mapping[str, Any]:
        """Returns what the policy was made with."""
        settings = self.archive.data.get("policy_kwargs")
        return settings if isinstance(settings, dict) else {}

    def _activation(self, default: str) -> str:
        named = re.search(r"(\w+)'>$", str(self.settings.get("activation_fn", "")))
        if named is None:
            return default
        if named[1] not in ACTIVATIONS:
            raise ConfigError(
                f"{self.archive.where}: activation_fn is {named[1]}; allowed are {', '.join(ACTIVATIONS)}"
            )
        return ACTIVATIONS[named[1]]


def port(archive: Sb3Archive, observation: Observation | None = None, action: Done | None = None) -> Ported:
    """Returns a network of ours with the outputs of a model file's.

    Args:
      archive: The file.
      observation: What it sees; None: as the file says.
      action: What it does; None: as the file says.

    Raises:
      ConfigError: The network has parts that we do not have, or the file does not tell enough.
    """
    try:
        source = Source(
            archive,
            read_observation(archive.data.get("observation_space")) if observation is None else observation,
            read_action(archive.data.get("action_space")) if action is None else action,
        )
        return _ported(source)
    except ConfigError as error:
        raise ConfigError(f"{archive.where}: {error}") from error


def _ported(source: Source) -> Ported:
    extractor = re.search(r"(\w+)'>$", str(source.settings.get("features_extractor_class", "")))
    if extractor is not None and extractor[1] not in EXTRACTORS:
        raise ConfigError(f"features_extractor_class is {extractor[1]}; allowed are {', '.join(EXTRACTORS)}")
    names = source.archive.tensors
    if "action_net.weight" in names and not any(name.startswith("lstm_") for name in names):
        return _on_policy(source)
    if any(name.startswith("q_net.q_net.") for name in names):
        return _dqn(source)
    if "actor.mu.weight" in names and "actor.log_std.weight" in names:
        return _sac(source)
    if any(name.startswith("actor.mu.0.") for name in names):
        return _td3(source)
    raise ConfigError(
        "its network is none of PPO, A2C, DQN, SAC, TD3 and DDPG, or uses gSDE; allowed are these without it"
    )


def _on_policy(source: Source) -> Ported:
    """Returns the network of PPO or A2C."""
    tensors = source.archive.tensors
    shared = chain(tensors, "mlp_extractor.shared_net")
    towers = {
        name: source.encoding(
            f"{name}_features_extractor" if any(key.startswith(f"{name}_features_extractor.") for key in tensors)
            else "features_extractor",
            [*shared, *chain(tensors, f"mlp_extractor.{net}")],
            "tanh",
        )
        for name, net in (("pi", "policy_net"), ("vf", "value_net"))
    }  # fmt: skip
    acting = linear(tensors, "action_net")
    described, heads, notes = _on_policy_heads(source.action, acting, tensors)
    ours = towers["pi"].named("encoder") | heads | linear(tensors, "value_net").named("value")
    network: dict[str, Any] = {"encoder": towers["pi"].config}
    if not towers["pi"].same_as(towers["vf"]):
        network["value"] = {"encoder": towers["vf"].config}
        ours |= towers["vf"].named("value_encoder")
    return Ported("PPO or A2C", source.kwargs(described, **network), ours, notes)


def _on_policy_heads(
    action: Done, acting: Layer, tensors: Mapping[str, Tensor]
) -> tuple[Any, Tensors, tuple[str, ...]]:
    """Returns the action as a config has it, the weights of its heads, and notes."""
    if action.shape is not None:
        log_std = tensors.get("log_std")
        if log_std is None or log_std.shape != (acting.units,):
            raise ConfigError("log_std has not one number for each of the action; allowed is a policy without gSDE")
        ours = acting.named("heads.0.mean") | {"heads.0.offset": log_std}
        return {"shape": list(action.shape)}, ours, _gaussian_notes(action, log_std)
    ours = {}
    for number, layer in enumerate(_choices(action, acting)):
        ours |= layer.named(f"heads.{number}.logits")
    return {"choices": action.choices[0] if action.is_single else list(action.choices)}, ours, ()


def _choices(action: Done, acting: Layer) -> list[Layer]:
    """Returns a layer of logits for each choice; a yes or no of one logit is a choice of 0 and that logit."""
    if acting.units != (len(action.choices) if action.is_binary else sum(action.choices)):
        raise ConfigError(
            f"action_net has {acting.units} outputs; its action space says {list(action.choices)} choices"
        )
    if action.is_binary:
        pairs = zip(acting.weight, acting.bias, strict=True)
        return [Layer(torch.stack([torch.zeros_like(w), w]), torch.stack([torch.zeros_like(b), b])) for w, b in pairs]
    sizes = list(action.choices)
    weights, biases = torch.split(acting.weight, sizes), torch.split(acting.bias, sizes)
    return [Layer(weight, bias) for weight, bias in zip(weights, biases, strict=True)]


def _gaussian_notes(action: Done, log_std: Tensor) -> tuple[str, ...]:
    bounds = f" to {_bounds_text(action)}" if action.low else ""
    notes = [f"actions are real numbers without bounds; Stable-Baselines3 clips them{bounds}, so must the game"]
    if bool(((log_std < LOG_STD_MIN) | (log_std > LOG_STD_MAX)).any()):
        notes.append(f"log_std leaves {LOG_STD_MIN:g} to {LOG_STD_MAX:g}, between which ours stays")
    return tuple(notes)


def _bounds_text(action: Done) -> str:
    return f"{min(action.low):g} … {max(action.high):g}"


def _dqn(source: Source) -> Ported:
    tensors = source.archive.tensors
    *hidden, last = chain(tensors, "q_net.q_net")
    if not source.action.is_single or last.units != source.action.choices[0]:
        raise ConfigError(
            f"q_net has {last.units} outputs; its action space says {list(source.action.choices)} choices"
        )
    encoding = source.encoding("q_net.features_extractor", hidden, "relu")
    rate = source.archive.data.get("exploration_rate")
    epsilon = float(rate) if isinstance(rate, int | float) and 0 <= rate <= 1 else 0.0
    ours = encoding.named("encoder") | last.named("advantage.0") | {"epsilon": torch.tensor([epsilon])}
    kwargs = source.kwargs({"choices": last.units}, encoder=encoding.config, q={})
    note = f"games for training take a random action with chance {epsilon:g} (exploration_rate), played ones the best"
    return Ported("DQN", kwargs, ours, (note,))


def _sac(source: Source) -> Ported:
    tensors = source.archive.tensors
    encoding = source.encoding("actor.features_extractor", chain(tensors, "actor.latent_pi"), "relu")
    mean, log_std = linear(tensors, "actor.mu"), linear(tensors, "actor.log_std")
    heads = mean.named("heads.0.mean") | log_std.named("heads.0.log_std") | {"heads.0.offset": torch.zeros(mean.units)}
    clamp = f"log_std stays between {LOG_STD_MIN:g} and {LOG_STD_MAX:g} here, -20 and {SAC_LOG_STD_MAX:g} there"
    return _actor("SAC", source, encoding, heads, mean.units, "state", (clamp,))


def _td3(source: Source) -> Ported:
    *hidden, mean = chain(source.archive.tensors, "actor.mu")
    encoding = source.encoding("actor.features_extractor", hidden, "relu")
    heads = mean.named("heads.0.mean") | {"heads.0.offset": torch.full((mean.units,), LOG_STD_MIN)}
    note = f"actions are drawn with the smallest deviation, exp({LOG_STD_MIN:g}); there they have none"
    return _actor("TD3 or DDPG", source, encoding, heads, mean.units, "shared", (note,))


def _actor(
    algorithm: str, source: Source, encoding: Encoding, heads: Tensors, units: int, std: str, notes: tuple[str, ...]
) -> Ported:
    """Returns a policy of bounded numbers whose value is 0: critics value actions, not states."""
    action = source.action
    if action.shape is None or not action.low or not action.high:
        raise ConfigError(
            "its action space does not tell the bounds of each number; give --action with shape, low and high"
        )
    if units != len(action.low):
        raise ConfigError(f"its actor has {units} outputs; its action space says {len(action.low)} numbers")
    described = {"shape": list(action.shape), "low": list(action.low), "high": list(action.high)}
    features = heads["heads.0.mean.weight"].shape[1]
    value = {"value.weight": torch.zeros(1, features), "value.bias": torch.zeros(1)}
    kwargs = source.kwargs(described, encoder=encoding.config, std=std)
    critics = "critics are left out: the value is 0, and training on begins with new ones"
    return Ported(algorithm, kwargs, encoding.named("encoder") | heads | value, (*notes, critics))
