"""Open-loop load on a replica in the time of its own CPU clock.

A tick is sent once the replica's clock has passed its arrival; where nobody waits the clock is set forward to the next
arrival. The clock moves by the CPU time that the replica's process has taken, so that other work on the machine, which
takes the CPU away from the replica, does not make queues longer.
"""

import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

GAMES = 64
"""As many ticks may be under way."""
START_S = 60.0
"""Longest wait for a reply, on a busy machine."""


@dataclass(frozen=True)
class Observed:
    """One window, in seconds of the replica's clock."""

    ticks: int
    busy_s: float
    length_s: float
    in_system_s: float
    """Of all ticks together, from arrival to answer."""

    @property
    def tick_us(self) -> float:
        return 1e6 * self.busy_s / self.ticks

    @property
    def utilisation(self) -> float:
        return self.busy_s / self.length_s

    @property
    def in_system(self) -> float:
        """Mean number of ticks that wait or are served: Little's law."""
        return self.in_system_s / self.length_s


class Replica:
    """A running replica, and a game core with many games that asks it over one connection, one request behind another.

    So ticks that wait are all there when the replica looks, however late this process gets the CPU.
    """

    def __init__(self, pid: int, port: int) -> None:
        self._clock = (~pid << 3) | 2  # The CPU clock of that process, see clock_getres(2).
        self._socket = socket.create_connection(("127.0.0.1", port), START_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._data = b""
        for number in range(GAMES):
            self._socket.sendall(self._request("start", number, b""))
            self._reply()
        self._requests = [self._request("tick", number, 64 * b"x") for number in range(GAMES)]

    def close(self) -> None:
        self._socket.close()

    def cpu_s(self) -> float:
        """Returns the CPU seconds that the replica has taken."""
        return time.clock_gettime(self._clock)

    def burst(self, ticks: int) -> list[float]:
        """Sends so many ticks at once and returns the CPU clock at each decision, in order."""
        self._socket.sendall(b"".join(self._requests[:ticks]))
        return [struct.unpack(">d", self._reply())[0] for _ in range(ticks)]

    def closed(self, together: int, times: int) -> list[float]:
        """Returns the CPU microseconds of a tick, each time that so many are sent together and all answers awaited."""
        found, before_s = [], self.cpu_s()
        for _ in range(times):
            self.burst(together)
            after_s = self.cpu_s()
            found.append(1e6 * (after_s - before_s) / together)
            before_s = after_s
        return found

    def open(self, arrivals_s: Sequence[float]) -> Observed:
        """Returns what became of ticks that arrive at these times, rising."""
        now_s, at, in_system_s, busy_s = 0.0, 0, 0.0, 0.0
        clock_s = self.cpu_s()
        while at < len(arrivals_s):
            now_s = max(now_s, arrivals_s[at])
            due = at
            while due < len(arrivals_s) and arrivals_s[due] <= now_s and due - at < GAMES:
                due += 1
            decided_s = self.burst(due - at)
            ended_s = self.cpu_s()
            answered_s = [one_s + ended_s - decided_s[-1] for one_s in decided_s]  # Each is written as the last one is.
            for arrival_s, one_s in zip(arrivals_s[at:due], answered_s, strict=True):
                in_system_s += now_s + one_s - clock_s - arrival_s
            busy_s += ended_s - clock_s
            now_s += ended_s - clock_s
            clock_s, at = ended_s, due
        return Observed(len(arrivals_s), busy_s, now_s, in_system_s)

    def _request(self, kind: str, number: int, body: bytes) -> bytes:
        head = f"POST /step HTTP/1.1\r\nHost: x\r\nsession: game-{number}\r\nstep_kind: {kind}\r\n"
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def _reply(self) -> bytes:
        while b"\r\n\r\n" not in self._data:
            self._receive()
        head, _, self._data = self._data.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head
        size = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        while len(self._data) < size:
            self._receive()
        body, self._data = self._data[:size], self._data[size:]
        return body

    def _receive(self) -> None:
        data = self._socket.recv(65_536)
        assert data, "the replica has closed the connection"
        self._data += data


@contextmanager
def replica(passes: int = 0) -> Iterator[Replica]:
    """Runs a replica, whose decisions are so many passes, until the end of the block."""
    command = [sys.executable, "-m", "tests.capacity.bare_replica", str(passes)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            running = Replica(process.pid, int(process.stdout.readline()))
            yield running
            running.close()
        finally:
            process.stdin.close()
            try:
                process.wait(START_S)
            except subprocess.TimeoutExpired:
                process.kill()


def poisson(rate_per_s: float, ticks: int, rng: np.random.Generator) -> list[float]:
    """Returns the times of so many arrivals."""
    found: list[float] = np.cumsum(rng.exponential(1 / rate_per_s, ticks)).tolist()
    return found
