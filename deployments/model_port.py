"""The port of a model replica, over which actor replicas ask it."""

from functools import partial
from typing import Final

from ray.util import get_node_ip_address

from app.errors import NotFoundError
from app.wire.detect import MAX_FRAME_BYTES, Speech
from app.wire.http import HttpReply, HttpRequest
from deployments.answering import Answering
from deployments.game_port import PEER_LIMITS, ListeningPort
from deployments.listener.detecting import DetectingConnection
from deployments.listener.model import speaks_model
from deployments.listener.port import Connections, HttpOnly
from deployments.model_wire import ModelWire
from deployments.shared_listener import SharedListener

LOOPBACK: Final = "127.0.0.1"


def listening_host(*, local: bool) -> str:
    """Returns the address that a model replica listens on.

    Args:
      local: Whether all who ask are on this machine.
    """
    return LOOPBACK if local else str(get_node_ip_address())  # type: ignore[no-untyped-call]


async def open_model_port(answering: Answering, host: str, secret: str) -> ListeningPort:
    """Returns a port that accepts the connections of actor replicas.

    Args:
      answering: Who answers.
      host: Address to listen on.
      secret: What those who ask must show.
    """
    connections = Connections(HttpOnly(_refuse), MAX_FRAME_BYTES, PEER_LIMITS)
    speakers = {Speech.NATIVE: speaks_model(ModelWire(answering.spec, secret), answering)}
    listener = SharedListener(host, 0, partial(DetectingConnection, connections, speakers=speakers), shared=False)
    await listener.open()
    return ListeningPort(connections, listener)


async def _refuse(request: HttpRequest) -> HttpReply:
    raise NotFoundError(f"a model's port answers actor replicas alone, not {request.path}")
