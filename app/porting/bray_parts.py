"""Bray's components as ours: models, sources, buffers, agents and renders."""

from app.config.files import Tree
from app.porting.bray_file import BrayFile, as_int, as_list, as_number, as_path
from app.porting.lines import Section, put

BY_HAND = "by hand"
TEN_MINUTES_S = 600


def enabled(section: Section, path: str, tree: Tree, default: str = "both") -> None:
    """Converts ``kind`` and ``enable``."""
    section.tell("kind", path, "it is the section that it stands in")
    mode = section.get("enable")
    if mode in ("train", "deploy") and mode != default:
        put(tree, f"{path}.enable", mode)
    section.tell("enable", f"{path}.enable", "" if mode in ("train", "deploy") else f"{default}, the default")


def process(section: Section, path: str, tree: Tree) -> None:
    """Converts what a process reserves."""
    for key, ours in (
        ("cpus_per_worker", "num_cpus"),
        ("gpus_per_worker", "num_gpus"),
        ("memory_per_worker", "memory_mb"),
    ):
        value = as_number(section, key)
        if value is not None and (value > 0 or ours != "memory_mb"):
            put(tree, f"{path}.{ours}", int(value) if ours == "memory_mb" else value)
        section.tell(key, f"{path}.{ours}", "" if value is not None else "null is our default")


def convert_model(file: BrayFile, section: Section, tree: Tree) -> None:
    """Converts a section of kind ``model``."""
    path = f"models.{file.names[section.name]}"
    put(tree, f"{path}.factory", as_path(section, "module", None, "build_model"))
    section.tell("module", f"{path}.factory", f"{BY_HAND}: it returns the module alone, whose spec tells its shapes")
    enabled(section, path, tree)
    engine = "onnx" if section.get("use_onnx") in ("train", "infer", "quantize") else "torch"
    put(tree, f"{path}.engine", engine)
    note = "quantized by sparring export, not while it is served" if section.get("use_onnx") == "quantize" else ""
    section.tell("use_onnx", f"{path}.engine", note)
    workers, is_local = as_int(section, "num_workers") or 0, bool(section.get("local_mode"))
    process(section, path, tree)
    if engine == "onnx":
        put(tree, f"{path}.num_gpus", 0)
    if not is_local:
        put(tree, f"{path}.placement", "remote")
        put(tree, f"{path}.replicas", max(1, workers))
    section.tell("local_mode", f"{path}.placement", "local" if is_local else "remote")
    section.tell("num_workers", f"{path}.replicas", "a local model has its actor's" if is_local else "")
    size = as_int(section, "max_batch_size") or 0
    if abs(size) > 1:
        put(tree, f"{path}.batching.max_rows", abs(size))
        if size < 0:
            put(tree, f"{path}.batching.pad_to", [abs(size)])
    section.tell(
        "max_batch_size",
        f"{path}.batching.max_rows",
        "" if abs(size) > 1 else "the default: batches form by themselves",
    )
    _checkpoints(file, section, path, tree)
    if section.get("tensorboard_graph"):
        put(tree, "tracking.charts.kinds", ["graph"])
    section.tell("tensorboard_graph", "tracking.charts.kinds", "graph, or nothing")
    section.tell("tensorboard_step", "", "curves always go by updates")
    section.tell("override_model", "", "a model is built anew at each start; its shapes are compared by a hash")


def _checkpoints(file: BrayFile, section: Section, path: str, tree: Tree) -> None:
    """Converts when a model is saved, and what it begins with: with us, keys of its trainers."""
    interval, begin = as_int(section, "checkpoint_interval"), section.get("checkpoint")
    if begin is not None:
        put(tree, f"{path}.checkpoint", str(begin))
    for trainer in file.trainers_of(section.name):
        kept = f"trainers.{trainer}.checkpoints"
        put(tree, f"{kept}.on_existing", "resume" if begin is None else "overwrite")
        put(tree, f"{kept}.every_updates" if interval else f"{kept}.every_s", interval or TEN_MINUTES_S)
        if interval:
            put(tree, f"{kept}.every_s", None)
    where = "trainers.<name>.checkpoints"
    section.tell(
        "checkpoint_interval", f"{where}.every_updates", "" if interval else "null: every_s, ten minutes as with Bray"
    )
    note = f"{BY_HAND}: a folder with our model.json; Bray's files are not read"
    if begin is None:
        section.tell("checkpoint", f"{where}.on_existing", "null goes on from the newest: resume")
    else:
        section.tell("checkpoint", f"{path}.checkpoint", note)


def convert_source(file: BrayFile, section: Section, tree: Tree) -> None:
    """Converts a section of kind ``source``."""
    path = f"sources.{file.names[section.name]}"
    put(tree, f"{path}.kind", "factory")
    put(tree, f"{path}.factory", as_path(section, "module", "func", "build_source"))
    note = f"{BY_HAND}: it is called with kwargs, and gives trajectories with observation, action and reward"
    section.tell("module", f"{path}.factory", note)
    section.tell("func", f"{path}.factory")
    enabled(section, path, tree, default="train")
    epochs = as_int(section, "epoch")
    put(tree, f"{path}.epochs", epochs)
    section.tell("epoch", f"{path}.epochs", "" if epochs else "null is no end")
    section.tell("num_workers", "", "each learner worker reads its own part")


def convert_buffer(file: BrayFile, section: Section, tree: Tree) -> None:
    """Converts a section of kind ``buffer``: one that has sources is no buffer with us, trainers read these."""
    name = file.names[section.name]
    sources = as_list(section, "sources")
    if sources:
        where = ", ".join(f"sources.{file.names.get(str(one), one)}" for one in sources)
        section.tell("kind", where, "trainers read sources, without a buffer")
        section.tell("sources", "trainers.<name>.inputs.source")
        section.tell("batch_size", "trainers.<name>.inputs.batch_rows", "rows, times batch_size of the trainer")
        section.tell("size", f"{where}.credits_batches", "the default: two batches are under way")
        section.tell("enable", f"{where}.enable")
        for key in ("num_workers", "density"):
            section.tell(key, "", "no process holds what is read")
        return
    path = f"buffers.{name}"
    put(tree, path, {})
    enabled(section, path, tree, default="train")
    put(tree, f"{path}.enable", "train")
    shards = as_int(section, "num_workers") or 1
    put(tree, f"{path}.shards", shards)
    section.tell("num_workers", f"{path}.shards")
    batches, rows = as_int(section, "size"), as_int(section, "batch_size") or 1
    if batches:
        put(tree, f"{path}.capacity_rows", max(batches * rows * file.concatenated(section.name), 2) // shards)
    section.tell("size", f"{path}.capacity_rows", "in rows of one shard, of batches before")
    section.tell("batch_size", "trainers.<name>.inputs.batch_rows", "rows, times batch_size of the trainer")
    density = as_int(section, "density")
    if density is not None and density < shards:
        put(tree, f"{path}.density", max(1, density) / shards)
    section.tell("density", f"{path}.density", "a share of the shards, of a number of them before")


def convert_agent(file: BrayFile, section: Section, tree: Tree) -> None:
    """Converts a section of kind ``agent``; keys that Bray does not know are keyword arguments."""
    path = f"agents.{file.names[section.name]}"
    put(tree, f"{path}.factory", as_path(section, "module", "class", "Agent"))
    section.tell("module", f"{path}.factory", f"{BY_HAND}: on_tick gets the payload and returns the answer")
    section.tell("class", f"{path}.factory")
    enabled(section, path, tree)
    agent_links(file, section.name, path, tree)
    for key, value in section.rest():
        put(tree, f"{path}.kwargs.{key}", value)
        section.tell(key, f"{path}.kwargs.{key}", "config[name] before")


def agent_links(file: BrayFile, agent: str, path: str, tree: Tree) -> None:
    """Names an agent's model and buffer, which Bray's agents name in their code; others than the first observe."""
    if not file.is_first(agent):
        put(tree, f"{path}.role", "observer")
        return
    models, buffers = file.of_kind("model"), file.pushed_buffers()
    if len(models) == 1:
        put(tree, f"{path}.model", file.names[models[0].name])
        if len(buffers) == 1:
            put(tree, f"{path}.buffer", file.names[buffers[0].name])


def convert_render(file: BrayFile, section: Section, tree: Tree) -> None:
    """Converts a section of kind ``render``: with us renders belong to agents."""
    players = file.players()
    where = ", ".join(f"agents.{player}.renders.{file.names[section.name]}" for player in players)
    for player in players:
        put(tree, f"agents.{player}.renders.{file.names[section.name]}", as_path(section, "module", "func", "render"))
    section.tell("kind", where)
    section.tell("module", where, f"{BY_HAND}: it is called with a Frame and returns an image")
    section.tell("func", where)
