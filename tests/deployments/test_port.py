import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from app.errors import PortInUseError
from deployments.port import PortGuard, free_port, holder, probe, refuse_taken

HOST = "127.0.0.1"


@contextmanager
def listener(port: int = 0, host: str = HOST, *, reuse_port: bool = False) -> Iterator[int]:
    """Listens like another program, or like a replica that shares its port."""
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if reuse_port:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sock.bind((host, port))
        sock.listen()
        yield int(sock.getsockname()[1])


def test_free_ports_differ_though_nobody_listens_on_them_yet() -> None:
    ports = [free_port(HOST) for _ in range(300)]
    assert len(set(ports)) == len(ports)


def test_a_free_port_is_held_under_the_services_name() -> None:
    with closing(PortGuard(HOST, free_port(HOST), "service one")) as guard:
        assert holder(HOST, guard.port) == "service one"
    assert holder(HOST, guard.port) is None


def test_port_0_becomes_a_free_one() -> None:
    with closing(PortGuard(HOST, 0, "one")) as first, closing(PortGuard(HOST, 0, "one")) as second:
        assert 0 not in (first.port, second.port)
        with listener(first.port) as port:
            assert port == first.port


@pytest.mark.parametrize("reuse_port", [False, True])
@pytest.mark.parametrize("host", [HOST, "0.0.0.0"])  # noqa: S104  # On this machine alone.
def test_a_port_that_another_program_listens_on_is_refused_by_name(host: str, reuse_port: bool) -> None:
    with listener(host=host, reuse_port=reuse_port) as port:
        with pytest.raises(PortInUseError, match=rf"port {port} on {HOST} cannot be used: Address already in use"):
            PortGuard(HOST, port, "one")
        with pytest.raises(PortInUseError, match=r"choose another with --set actors\.<name>\.port=N"):
            refuse_taken(HOST, port, "one")
        assert holder(HOST, port) is None  # Having been refused, we hold nothing.


def test_replicas_of_one_service_share_a_port() -> None:
    with closing(PortGuard(HOST, 0, "one")) as first, listener(first.port, reuse_port=True):
        with closing(PortGuard(HOST, first.port, "one")) as second:
            assert second.port == first.port
        refuse_taken(HOST, first.port, "one")


def test_a_second_service_is_refused_and_told_who_has_the_port() -> None:
    with closing(PortGuard(HOST, 0, "service one")) as guard:
        with pytest.raises(PortInUseError, match=rf"port {guard.port} on {HOST} is held by service one; stop it"):
            PortGuard(HOST, guard.port, "service two")
        with pytest.raises(PortInUseError, match="is held by service one"):
            refuse_taken(HOST, guard.port, "service two")
        assert holder(HOST, guard.port) == "service one"


def test_the_port_stays_held_until_the_last_replica_has_gone() -> None:
    first = PortGuard(HOST, 0, "one")
    second = PortGuard(HOST, first.port, "one")
    first.close()
    assert holder(HOST, first.port) == "one"
    with pytest.raises(PortInUseError):
        PortGuard(HOST, first.port, "two")
    second.close()
    with closing(PortGuard(HOST, first.port, "two")):
        assert holder(HOST, first.port) == "two"


def test_a_service_may_come_back_at_once_though_old_connections_linger() -> None:
    with closing(PortGuard(HOST, 0, "one")) as guard, socket.create_server((HOST, guard.port)) as server:
        port = guard.port
        client = socket.create_connection((HOST, port))
        server.accept()[0].close()  # Who closes first is who keeps the connection lingering.
        assert client.recv(1) == b""
        client.close()
    with closing(PortGuard(HOST, port, "one")), listener(port, reuse_port=True):
        pass


def test_any_port_is_free_to_choose() -> None:
    refuse_taken(HOST, 0, "one")
    probe(HOST, free_port(HOST))


def test_an_address_that_is_not_ours_is_refused() -> None:
    with pytest.raises(PortInUseError, match=r"port 1234 on 192\.0\.2\.1 cannot be used"):
        probe("192.0.2.1", 1234)
