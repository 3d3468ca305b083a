"""Bray's actors as ours."""

from typing import Final

from app.config.files import Tree
from app.porting.bray_file import BrayFile, as_int, as_list, as_path
from app.porting.bray_parts import BY_HAND, agent_links, enabled, process
from app.porting.lines import Section, put

PROTO: Final = ("tick_input_proto", "tick_output_proto")


def convert_actor(file: BrayFile, section: Section, tree: Tree) -> None:
    """Converts a section of kind ``actor``; one with a class of its own becomes an actor with one agent."""
    path = f"actors.{file.names[section.name]}"
    enabled(section, path, tree)
    process(section, path, tree)
    put(tree, f"{path}.agents", _agents(file, section, tree))
    for key, ours in (("port", "port"), ("num_workers", "replicas"), ("actors_per_worker", "limits.max_games")):
        value = as_int(section, key)
        if value:
            put(tree, f"{path}.{ours}", value)
        section.tell(key, f"{path}.{ours}", "" if value else "our default")
    put(tree, f"{path}.use_gateway", section.get("use_gateway"))
    section.tell("use_gateway", f"{path}.use_gateway", "null needs game cores that go on at the endpoint of the start")
    section.tell("use_tcp", "", "each game port speaks HTTP and Bray's TCP frames")
    put(tree, f"{path}.unroll_ticks", as_int(section, "episode_length"))
    section.tell("episode_length", f"{path}.unroll_ticks", "null means whole episodes, with both")
    _record(file, section, tree)
    codec = f"{BY_HAND}: the class attribute codec of an agent: json, proto or bytes"
    section.tell("serialize", "", codec)
    section.tell("use_proto", "", codec)
    for key in PROTO:
        section.tell(key, "", f"{BY_HAND}: the class attribute {key.removesuffix('_proto')} of an agent")
    section.tell("environment", "", "game cores play from outside; launch.simulator starts some")


def _agents(file: BrayFile, section: Section, tree: Tree) -> list[str]:
    """Returns our names of an actor's agents."""
    known = {agent.name for agent in file.of_kind("agent")}
    named = [file.names[str(one)] for one in as_list(section, "agents") if str(one) in known]
    if section.get("module") is None:
        note = "the first answers, the others observe; with Bray all write the one answer"
        section.tell("agents", f"actors.{file.names[section.name]}.agents", note)
        return named
    own = f"{file.names[section.name]}_agent"
    put(tree, f"agents.{own}.factory", as_path(section, "module", "class", "Actor"))
    mode = section.get("enable")
    if mode in ("train", "deploy"):
        put(tree, f"agents.{own}.enable", mode)
    agent_links(file, section.name, f"agents.{own}", tree)
    note = f"{BY_HAND}: a class of app.agents.agent:Agent in place of an Actor"
    section.tell("module", f"agents.{own}.factory", note)
    section.tell("class", f"agents.{own}.factory")
    section.tell("agents", "", "an actor with a class has no agents, with Bray either")
    return [own]


def _record(file: BrayFile, section: Section, tree: Tree) -> None:
    """Converts which games are kept: with us a key of agents."""
    every = as_int(section, "episode_save_interval")
    if every and file.top.get("dump_state") is not False:
        for player in file.players():
            put(tree, f"agents.{player}.record.every", every)
    section.tell("episode_save_interval", "agents.<name>.record.every", "" if every else "null: no record")
