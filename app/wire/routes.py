"""What the game port serves by HTTP, and the replies to requests for anything else."""

from typing import Final

from app.errors import MethodError, NotFoundError, WebSocketOnlyError
from app.wire.http import HttpReply, HttpRequest, refusal

_SHOWN: Final = ("GET", "HEAD")

ROUTES: Final[dict[str, tuple[str, ...]]] = {
    "/step": ("POST",),
    "/steps": ("POST",),
    "/healthz": _SHOWN,
    "/readyz": _SHOWN,
    "/status": _SHOWN,
    "/node": _SHOWN,
    "/replicas": _SHOWN,
    "/sessions": _SHOWN,
    "/sessions/{id}": _SHOWN,
    "/weights": _SHOWN,
    "/weights/{model}/{version}": _SHOWN,
    "/alarms": _SHOWN,
    "/league": _SHOWN,
    "/league/opponent": _SHOWN,
    "/errors": _SHOWN,
    "/recordings": ("GET", "HEAD", "POST"),
    "/recordings/{folder}/{name}/{number}": _SHOWN,
    "/metrics": _SHOWN,
    "/metrics/query": _SHOWN,
    "/metrics/names": _SHOWN,
    "/ring": _SHOWN,
    "/console": _SHOWN,
    "/console/{file}": _SHOWN,
    "/openapi.json": _SHOWN,
    "/ws": ("GET",),
}
"""The methods of each path; what stands in braces is any text."""


def unserved(request: HttpRequest) -> HttpReply:
    """Returns the reply to a request that no handler takes: what is allowed at its path, or that there is none."""
    method = request.method.decode("latin-1")
    methods = _methods(request.path)
    if not methods:
        served = ", ".join(f"{'/'.join(methods)} {path}" for path, methods in ROUTES.items())
        return refusal(NotFoundError(f"{method} {request.path} is not served; allowed are {served}"))
    allowed = ", ".join((*methods, "OPTIONS"))
    allow = (b"Allow", allowed.encode())
    if method == "OPTIONS":
        return HttpReply(204, b"", headers=(allow,))
    if method not in methods:
        reply = refusal(MethodError(f"{method} is not allowed at {request.path}; allowed are {allowed}"))
        return reply._replace(headers=(*reply.headers, allow))
    reply = refusal(WebSocketOnlyError(f"{request.path} speaks WebSocket only; ask for the upgrade"))
    return reply._replace(headers=(*reply.headers, (b"Upgrade", b"websocket")))


def _methods(path: str) -> tuple[str, ...]:
    """Returns the methods of a path; ``*`` stands for all paths."""
    if path == "*":
        return tuple(dict.fromkeys(method for methods in ROUTES.values() for method in methods))
    many = {
        "/sessions/": "/sessions/{id}",
        "/weights/": "/weights/{model}/{version}",
        "/console/": "/console/{file}",
        "/recordings/": "/recordings/{folder}/{name}/{number}",
    }
    return ROUTES.get(next((route for start, route in many.items() if path.startswith(start)), path), ())
