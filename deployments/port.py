"""The guard of the game port: replicas of one service share it, nobody else may."""

import fcntl
import os
import secrets
import socket
import tempfile
from pathlib import Path
from typing import Final, TextIO

from app.errors import PortInUseError

QUIET_PORTS: Final = range(20_000, 32_768)
"""Above those of Ray's workers, and below those that Linux gives to outgoing connections."""
TRIES: Final = 100
_given: Final[set[int]] = set()
"""Free ports that this process was given: who asks for several before he listens needs different ones."""
WHAT_TO_DO = "stop it, or choose another with --set actors.<name>.port=N"


class PortGuard:
    """Holds the right to listen on a port, for as long as this process lives.

    SO_REUSEPORT lets a second service silently take half the connections. So the first replica of a service takes the
    port's lock alone, shows by binding without SO_REUSEPORT that nobody listens, and then shares the lock under the
    service's name; replicas that follow find that name.
    """

    def __init__(self, host: str, port: int, owner: str) -> None:
        """Takes the port.

        Args:
          host: Address to listen on.
          port: Port; 0 finds a free one.
          owner: Name of the service, the same in all its replicas.

        Raises:
          PortInUseError: Another process listens there or another service holds it.
        """
        self.port = port or free_port(host)
        self._lock = _open_lock(host, self.port)
        try:
            self._take(host, owner)
        except PortInUseError:
            self._lock.close()
            raise

    def close(self) -> None:
        """Gives the port up."""
        self._lock.close()

    def _take(self, host: str, owner: str) -> None:
        if self._locked(fcntl.LOCK_EX):
            probe(host, self.port)
            self._lock.seek(0)
            self._lock.truncate()
            self._lock.write(owner)
            self._lock.flush()
        fcntl.flock(self._lock, fcntl.LOCK_SH)  # Waits for as long as another replica probes: milliseconds.
        self._lock.seek(0)
        holder = self._lock.read()
        if holder != owner:
            raise PortInUseError(f"port {self.port} on {host} is held by {holder or 'another service'}; {WHAT_TO_DO}")

    def _locked(self, kind: int) -> bool:
        try:
            fcntl.flock(self._lock, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def probe(host: str, port: int, what_to_do: str = WHAT_TO_DO) -> None:
    """Does nothing where the port is free.

    Args:
      host: Address to listen on.
      port: Port; 0 is always free.
      what_to_do: How whoever reads the error gets another one.

    Raises:
      PortInUseError: Somebody listens on it, or it may not be used.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as attempt:
        attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # Else closed connections linger.
        try:
            attempt.bind((host, port))
            attempt.listen(1)
        except OSError as error:
            raise PortInUseError(f"port {port} on {host} cannot be used: {error.strerror}; {what_to_do}") from error


def holder(host: str, port: int) -> str | None:
    """Returns the name of the service that holds the port now; None where none does."""
    with _open_lock(host, port) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            return lock.read() or "another service"
        return None


def refuse_taken(host: str, port: int, owner: str) -> None:
    """Does nothing where the port is free, or held by the service of that name already.

    Raises:
      PortInUseError: Somebody else has it.
    """
    if port == 0:
        return
    held_by = holder(host, port)
    if held_by is None:
        probe(host, port)
    elif held_by != owner:
        raise PortInUseError(f"port {port} on {host} is held by {held_by}; {WHAT_TO_DO}")


def free_port(host: str = "127.0.0.1") -> int:
    """Returns a port that nobody listens on at this moment, and that this process was not given before.

    It lies outside what systems give to outgoing connections, one of which could have it before somebody listens.
    """
    for _ in range(TRIES):
        port = secrets.choice(QUIET_PORTS)
        if port in _given:
            continue
        try:
            probe(host, port)
        except PortInUseError:
            continue
        _given.add(port)
        return port
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as attempt:
        attempt.bind((host, 0))
        return int(attempt.getsockname()[1])


def _open_lock(host: str, port: int) -> TextIO:
    folder = Path(tempfile.gettempdir()) / f"sparring-ports-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return (folder / f"{host}-{port}.lock").open("a+")
