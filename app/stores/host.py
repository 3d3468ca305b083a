"""A named process that holds one or more stores; the only place where a store is an actor."""

import asyncio
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

import ray

from app.config.base import Process
from app.errors import ServiceNotFoundError, SparringError
from app.logs.failures import Failures
from app.logs.tasks import told

if TYPE_CHECKING:
    from ray.actor import ActorHandle

    from app.config.logs import LogsConfig

MAX_WAITING_CALLS = 1_000
"""Calls that may wait in one host at a time, long polls included."""
BRIEF_S: Final = 2.0
"""Longest wait for what is asked again until it is answered."""
ON_HEAD: Final = {"node:__internal_head__": 0.001}
"""Resources that only the head node has."""


class Store(Protocol):
    """What a host needs of a store: it is made in the host's process."""

    async def start(self) -> None:
        """Begins work that needs the process's event loop."""


class Host:
    """Makes stores in its process and passes calls on to them by name."""

    def __init__(
        self,
        stores: dict[str, tuple[type[Store], dict[str, Any]]],
        namespace: str = "",
        name: str = "",
        logs: "LogsConfig | None" = None,
    ) -> None:
        """Makes the stores.

        Args:
          stores: Their classes and arguments, by name.
          namespace: Of the trial whose errors these are.
          name: Of the process.
          logs: How it logs; None leaves that as it is.
        """
        if logs is not None:
            from app.stores.error_forwarder import watch_errors  # noqa: PLC0415  (it finds hosts by this module)

            watch_errors(namespace, name, logs)
        self._stores = {name: make(**kwargs) for name, (make, kwargs) in stores.items()}
        self._started: set[str] = set()
        self._namespace, self._name = namespace, name
        self._telling: asyncio.Task[None] | None = None
        self._failures = Failures(Counter())
        self._starting = asyncio.Lock()

    async def call(self, store: str, method: str, *args: Any) -> Any:  # Ray's own seam is untyped.
        """Returns what the store's method returns; the first call, also after a restart, starts the store."""
        if store not in self._started:
            async with self._starting:
                if store not in self._started:
                    await self._stores[store].start()
                    self._started.add(store)
                    self._tell()
        try:
            return await getattr(self._stores[store], method)(*args)
        except SparringError:  # An answer: whoever asks is told what is wrong with the question.
            raise
        except Exception as error:
            self._failures.tell(error, f"{method} of the store {store} failed")
            raise

    def _tell(self) -> None:
        """Begins to tell what is measured here."""
        if self._telling is None and self._namespace:
            from app.stores.telling import tell_for_ever  # noqa: PLC0415  (it finds hosts by this module)

            stores = list(self._stores.values())
            telling = tell_for_ever(self._namespace, self._name, stores)
            self._telling = told(asyncio.get_running_loop().create_task(telling))


class StoreHandle:
    """Reaches one store in its host from any process of the cluster; typed clients wrap it."""

    def __init__(self, host: "ActorHandle[Host]", store: str) -> None:
        self._call = cast("Any", host).call
        self._store = store

    def call(self, method: str, *args: Any) -> "ray.ObjectRef[Any]":
        """Calls a method; the reference is awaited or handed to ``ray.get``."""
        return cast("ray.ObjectRef[Any]", self._call.remote(self._store, method, *args))

    def get(self, method: str, *args: Any, timeout_s: float = 30.0) -> Any:  # As above.
        """Returns what the method returns; for code without an event loop.

        Raises:
          ray.exceptions.GetTimeoutError: It took longer than ``timeout_s``.
        """
        return ray.get(self.call(method, *args), timeout=timeout_s)


def open_host(
    namespace: str,
    name: str,
    process: Process,
    stores: dict[str, tuple[type[Store], dict[str, Any]]],
    logs: "LogsConfig | None" = None,
    *,
    spread: bool = False,
) -> "ActorHandle[Host]":
    """Returns the named host, made if it does not run yet; it outlives whoever made it.

    Args:
      namespace: The trial's.
      name: Of the host.
      process: What it reserves.
      stores: What it makes, by name.
      logs: How it logs, and that its errors are kept; None does neither.
      spread: Whether hosts like it are spread over the nodes. Else one that reserves no cores runs on the head node,
        without which there is no cluster: so the loss of no other takes it away.
    """
    options = {
        "namespace": namespace,
        "name": name,
        "get_if_exists": True,
        "lifetime": "detached",
        "num_cpus": process.num_cpus,
        "num_gpus": process.num_gpus,
        "memory": None if process.memory_mb is None else process.memory_mb * 2**20,
        "max_concurrency": MAX_WAITING_CALLS,
        "max_restarts": -1,
        "resources": ON_HEAD if not (spread or process.num_cpus or process.num_gpus) else None,
        "scheduling_strategy": "SPREAD" if spread else "DEFAULT",
    }
    host = cast("Any", ray.remote(Host)).options(**options).remote(stores, namespace, name, logs)
    return cast("ActorHandle[Host]", host)


def find_host(namespace: str, name: str) -> "ActorHandle[Host]":
    """Returns the named host.

    Raises:
      ServiceNotFoundError: It does not run; the message lists what does.
    """
    try:
        return cast("ActorHandle[Host]", ray.get_actor(name, namespace=namespace))
    except ValueError as error:
        running = sorted({str(actor["namespace"]) for actor in ray.util.list_named_actors(all_namespaces=True)})
        ours = ", ".join(n for n in running if n.startswith("sparring.")) or "none"
        raise ServiceNotFoundError(
            f"no {name!r} runs in {namespace!r}; running are: {ours}. Start the service with "
            "'serve run serve_config.yaml', or give the project and trial of a running one"
        ) from error


def found_hosts(namespace: str, names: Iterable[str]) -> "list[ActorHandle[Host]]":
    """Returns the hosts with these names, up to the first that does not run."""
    found = []
    for name in names:
        try:
            found.append(cast("ActorHandle[Host]", ray.get_actor(name, namespace=namespace)))
        except ValueError:
            break
    return found


def close_hosts(namespace: str) -> None:
    """Ends all hosts of a trial."""
    for actor in ray.util.list_named_actors(all_namespaces=True):
        if actor["namespace"] == namespace:
            ray.kill(ray.get_actor(str(actor["name"]), namespace=namespace))
