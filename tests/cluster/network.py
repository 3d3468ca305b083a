"""Machines that are network namespaces: each has an address of its own, and a link that can be cut."""

import ctypes
import os
import secrets
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

CLONE_NEWNET = 0x40000000
"""Linux's name for "of a thread, its network"."""
START_S = 300.0
"""Longest command: on a busy machine Ray is slow to start."""
IP_S = 60.0
GONE_S = 30.0
"""Longest time until killed processes are gone."""
LOOK_S = 0.05
OWN_NETWORK = "/proc/thread-self/ns/net"
HOME = os.open(OWN_NETWORK, os.O_RDONLY) if Path(OWN_NETWORK).exists() else -1
"""The network that this process began in, where the ends of all links are."""


class NoNetworksError(Exception):
    """This machine does not let the tests make networks."""


def missing() -> str | None:
    """Returns what the tests need and this machine lacks; None where it has all."""
    if os.uname().sysname != "Linux":
        return "network namespaces, which Linux has"
    if shutil.which("ip") is None:
        return "the command ip (package iproute2)"
    name = f"sparring-try-{secrets.token_hex(3)}"
    try:
        _ip("netns", "add", name)
        _ip("netns", "del", name)
    except NoNetworksError as error:
        return f"the right to make network namespaces (root): {error}"
    return None


@dataclass(frozen=True)
class Machine:
    """One network namespace."""

    name: str
    address: str
    link: str
    """Its end on the bridge."""

    def run(self, *command: str, **env: str) -> str:
        """Returns what a command prints that runs there."""
        whole = ["ip", "netns", "exec", self.name, *command]
        done = subprocess.run(whole, capture_output=True, text=True, timeout=START_S, env=os.environ | env, check=False)
        if done.returncode:
            raise AssertionError(f"{command} failed:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
        return done.stdout

    def pids(self) -> list[int]:
        """Returns the processes that run there, but for this one."""
        return [int(pid) for pid in _ip("netns", "pids", self.name).split() if int(pid) != os.getpid()]

    def kill_all(self) -> None:
        """Kills what runs there and waits until it is gone: until then it holds locks and ports."""
        end_s = time.monotonic() + GONE_S
        while running := self.pids():
            for pid in running:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if time.monotonic() > end_s:
                raise AssertionError(f"processes {running} of {self.name} are not gone after {GONE_S:g} s")
            threading.Event().wait(LOOK_S)

    def persist(self, start: Callable[[], object], tries: int = 5) -> None:
        """Starts Ray there; on a busy machine it gives up before its own processes are there, and is started again."""
        for tries_left in reversed(range(tries)):
            try:
                start()
            except AssertionError:
                self.kill_all()
                if not tries_left:
                    raise
            else:
                return

    def die(self) -> None:
        """Pulls the plug: nothing of what runs there can say goodbye, and nobody is told that connections are over."""
        _ip("link", "set", self.link, "down")
        self.kill_all()

    def revive(self) -> None:
        """Plugs a machine in again that died."""
        _ip("link", "set", self.link, "up")

    def received_bytes(self) -> int:
        """Returns the bytes that have come to the machine so far."""
        return int(Path(f"/sys/class/net/{self.link}/statistics/tx_bytes").read_text())

    @contextmanager
    def cut_off(self) -> Iterator[None]:
        """Reaches nobody for as long as the block runs."""
        _ip("link", "set", self.link, "down")
        try:
            yield
        finally:
            _ip("link", "set", self.link, "up")

    @contextmanager
    def joined(self) -> Iterator[None]:
        """Puts this thread, and the threads that it starts, into the machine's network."""
        with _in_network(f"/run/netns/{self.name}"):
            yield


@contextmanager
def machines(*names: str) -> Iterator[dict[str, Machine]]:
    """Makes machines that reach each other, and this one; at the end all that runs on them is killed.

    Raises:
      NoNetworksError: It cannot be done here; the message says what is missing.
    """
    lacks = missing()
    if lacks is not None:
        raise NoNetworksError(f"the cluster's tests need {lacks}")
    mark, subnet = secrets.token_hex(3), f"198.18.{secrets.randbelow(250) + 1}"  # Of RFC 2544: for tests.
    bridge = f"spar{mark}"
    with ExitStack() as undo:
        _ip("link", "add", bridge, "type", "bridge")
        undo.callback(_ip, "link", "del", bridge)
        _ip("addr", "add", f"{subnet}.1/24", "dev", bridge)
        _ip("link", "set", bridge, "up")
        made = {}
        for number, name in enumerate(names, start=11):
            made[name] = machine = Machine(f"{bridge}-{name}", f"{subnet}.{number}", f"{bridge}v{number}")
            _add(machine, bridge, undo)
        yield made


def _add(machine: Machine, bridge: str, undo: ExitStack) -> None:
    _ip("netns", "add", machine.name)
    undo.callback(_end, machine)
    _ip("link", "add", machine.link, "type", "veth", "peer", "name", "eth0", "netns", machine.name)
    _ip("link", "set", machine.link, "master", bridge, "up")
    _ip("-n", machine.name, "addr", "add", f"{machine.address}/24", "dev", "eth0")
    _ip("-n", machine.name, "link", "set", "eth0", "up")
    _ip("-n", machine.name, "link", "set", "lo", "up")


def _end(machine: Machine) -> None:
    machine.kill_all()
    _ip("link", "del", machine.link)  # Else it stays for as long as a killed process takes to end.
    _ip("netns", "del", machine.name)


@contextmanager
def at_home() -> Iterator[None]:
    """Puts this thread into the network that this process began in, also where a machine's has been joined."""
    with _in_network(f"/proc/self/fd/{HOME}"):
        yield


@contextmanager
def _in_network(path: str) -> Iterator[None]:
    libc = ctypes.CDLL(None, use_errno=True)
    with Path(OWN_NETWORK).open("rb") as before, Path(path).open("rb") as wanted:
        _set(libc, wanted.fileno())
        try:
            yield
        finally:
            _set(libc, before.fileno())


def _set(libc: ctypes.CDLL, network: int) -> None:
    if libc.setns(network, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


def _ip(*arguments: str) -> str:
    command = [shutil.which("ip") or "ip", *arguments]
    with at_home():
        done = subprocess.run(command, capture_output=True, text=True, timeout=IP_S, check=False)
    if done.returncode:
        raise NoNetworksError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout
