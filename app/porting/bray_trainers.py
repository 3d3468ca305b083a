"""Bray's trainers as ours."""

from typing import Final

from app.config.files import Tree
from app.errors import ConfigError
from app.porting.bray_file import BrayFile, as_int, as_list, as_number, as_path
from app.porting.bray_parts import BY_HAND, enabled
from app.porting.lines import Section, put

LEARNING_RATE: Final = 5e-4
"""Of Bray, where it is null."""
FEWEST_ROWS: Final = 2


def convert_trainer(file: BrayFile, section: Section, tree: Tree) -> None:
    """Converts a section of kind ``trainer``."""
    path = f"trainers.{file.names[section.name]}"
    enabled(section, path, tree, default="train")
    put(tree, f"{path}.model", file.names.get(str(section.get("model")), str(section.get("model"))))
    section.tell("model", f"{path}.model")
    put(tree, f"{path}.inputs", _inputs(file, section, tree))
    note = f"{BY_HAND}: a Learner, or one of ours, such as kind: ppo; its rewards and advantages are the learner's"
    section.tell("module", f"{path}.inputs.algorithm.factory", note)
    section.tell("class", f"{path}.inputs.algorithm.factory")
    section.tell("buffers", f"{path}.inputs")
    section.tell("buffer_weights", f"{path}.inputs.weight")
    section.tell("batch_size", f"{path}.inputs.batch_rows", "times batch_size of the buffer")
    section.tell("batch_kind", "", "batches are whole trajectories, one behind another")
    section.tell("max_reuse", "", "queued rows are learned from once; see algorithm.epochs, or buffers.<name>.table")
    _evaluate(file, section, path, tree)
    _reserve(section, path, tree)
    _optimize(section, path, tree)
    prefetch = as_int(section, "prefetch_size")
    if prefetch is not None:
        for buffer in file.pushed_buffers():
            if buffer.name in as_list(section, "buffers"):
                put(tree, f"buffers.{file.names[buffer.name]}.credits_batches", max(1, prefetch + 1))
    section.tell("prefetch_size", "buffers.<name>.credits_batches", "one more than are prefetched")


def _inputs(file: BrayFile, section: Section, tree: Tree) -> list[Tree]:
    """Returns what a trainer learns from: a buffer, or in place of one with sources each of these."""
    names = [str(one) for one in as_list(section, "buffers")]
    weights = [float(str(one)) for one in as_list(section, "buffer_weights")] or [1.0] * len(names)
    factory = as_path(section, "module", "class", "Trainer")
    inputs: list[Tree] = []
    for name, weight in zip(names, weights, strict=False):
        buffer = file.sections.get(name)
        if buffer is None:
            raise ConfigError(f"{section.name}.buffers: there is no section {name!r}")
        if weight <= 0:
            continue
        rows = max(FEWEST_ROWS, (as_int(buffer, "batch_size") or 1) * (as_int(section, "batch_size") or 1))
        sources = [{"source": file.names.get(str(one), str(one))} for one in as_list(buffer, "sources")]
        for origin in sources or [{"buffer": file.names[name]}]:
            algorithm = {"kind": "custom", "factory": factory, "minibatch_rows": rows}
            inputs.append({**origin, "batch_rows": rows, "algorithm": algorithm, "weight": weight})
    if not inputs:
        raise ConfigError(f"{section.name}.buffers: names nothing to learn from, got {names}")
    return inputs


def _evaluate(file: BrayFile, section: Section, path: str, tree: Tree) -> None:
    """Converts ``eval``: with us a source names the one that it is evaluated on."""
    wanted = section.get("eval")
    if not isinstance(wanted, dict):
        section.tell("eval", f"{path}.evaluation", "null measures nothing more")
        return
    own = Section(f"{section.name}.eval", wanted, file.lines)
    put(tree, f"{path}.evaluation.every_updates", as_int(own, "interval") or 1000)
    put(tree, f"{path}.evaluation.held_out_batches", as_int(own, "steps") or 10)
    held_out = as_list(file.sections[str(own.get("buffer"))], "sources") if own.get("buffer") in file.sections else []
    for name in as_list(section, "buffers"):
        for source in as_list(file.sections[str(name)], "sources") if held_out else []:
            put(tree, f"sources.{file.names[str(source)]}.held_out_source", file.names[str(held_out[0])])
    section.tell("eval", f"{path}.evaluation")
    own.tell("buffer", "sources.<name>.held_out_source", "the first source of that buffer")
    own.tell("interval", f"{path}.evaluation.every_updates")
    own.tell("steps", f"{path}.evaluation.held_out_batches")


def _reserve(section: Section, path: str, tree: Tree) -> None:
    """Converts what a worker reserves."""
    if section.get("use_gpu"):
        put(tree, f"{path}.num_gpus", 1)
    section.tell("use_gpu", f"{path}.num_gpus", "1 or 0")
    for key, ours in (("num_workers", "workers"), ("cpus_per_worker", "num_cpus")):
        value = as_number(section, key)
        if value:
            put(tree, f"{path}.{ours}", int(value) if ours == "workers" else value)
        section.tell(key, f"{path}.{ours}", "" if value else "our default")


def _optimize(section: Section, path: str, tree: Tree) -> None:
    """Converts optimizer and length."""
    rate, norm = as_number(section, "learning_rate"), as_number(section, "clip_grad_max_norm")
    put(tree, f"{path}.optimizer.learning_rate", rate or LEARNING_RATE)
    section.tell("learning_rate", f"{path}.optimizer.learning_rate", "" if rate else "null: 5e-4, as with Bray")
    put(tree, f"{path}.optimizer.max_grad_norm", norm or None)
    section.tell("clip_grad_max_norm", f"{path}.optimizer.max_grad_norm")
    steps = as_int(section, "optimizer_step_interval")
    if steps:
        put(tree, f"{path}.optimizer.accumulate_minibatches", steps)
    section.tell("optimizer_step_interval", f"{path}.optimizer.accumulate_minibatches")
    for key, ours in (("weights_publish_interval", "publish_every_updates"), ("num_steps", "max_updates")):
        value = as_int(section, key)
        if value:
            put(tree, f"{path}.{ours}", value)
        section.tell(key, f"{path}.{ours}", "" if value else "our default")
