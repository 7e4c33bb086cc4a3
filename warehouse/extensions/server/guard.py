"""Who may ask: names of the host, the token, and methods; and the headers of every answer."""

from __future__ import annotations

import base64
import binascii
import hmac
import ipaddress
import socket
from collections.abc import Iterable
from typing import TYPE_CHECKING

from warehouse.errors import UsageError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_SHORTEST_TOKEN = 16


def is_loopback(host: str) -> bool:
    """Whether only programs on this machine can reach a host.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_token(host: str, token: str | None) -> None:
    """Refuse to be reached from other machines without a token, and a token that can be guessed."""
    if token is None:
        if not is_loopback(host):
            raise UsageError(
                f"{host}: other machines can reach it, so give a token that readers must know: "
                "--token-file FILE, --token TOKEN or WAREHOUSE_TOKEN; or stay on 127.0.0.1, behind a "
                "proxy that asks for a password"
            )
        return
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable():
        raise UsageError(
            f"the token: needs at least {_SHORTEST_TOKEN} characters of ASCII, as in: "
            'python -c "import secrets; print(secrets.token_urlsafe())"'
        )


class Guard:
    """Refuses requests that do not come from a page of this server or from who knows the token.

    A page elsewhere could have its own name point to this machine (DNS rebinding): only addresses,
    localhost, this machine's name and the names given are answered. There is no cookie.
    """

    def __init__(self, app: ASGIApp, token: str | None, names: Iterable[str]) -> None:
        self._app, self._token = app, token
        known = {"localhost", socket.gethostname(), *names}
        self._names = {name.lower().rstrip(".") for name in known}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name.decode().lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *((k.encode(), v.encode()) for k, v in _HEADERS.items() if k not in given),
                ]
            await send(message)

        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        refusal = self._refusal(headers)
        if refusal is None:
            await self._app(scope, receive, send_guarded)
            return
        from starlette.responses import PlainTextResponse

        code, body = refusal
        asks = {"www-authenticate": 'Basic realm="ranking warehouse", charset="UTF-8"'}
        response = PlainTextResponse(body + "\n", code, headers=asks if code == 401 else None)
        await response(scope, receive, send_guarded)

    def _refusal(self, headers: dict[str, str]) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if not self._is_known(host):
            return 421, f"{host}: no name of this server; allow it with --allow-host"
        if self._token is not None and not self._has_token(headers.get("authorization", "")):
            return 401, "The token is missing or wrong: it is the password, with any user name."
        return None

    def _is_known(self, host: str) -> bool:
        name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name.lower().rstrip(".") in self._names
        return True

    def _has_token(self, given: str) -> bool:
        kind, _, word = given.partition(" ")
        if kind.lower() == "basic":
            try:
                word = base64.b64decode(word, validate=True).decode().partition(":")[2]
            except (binascii.Error, ValueError):
                return False
        elif kind.lower() != "bearer":
            return False
        assert self._token is not None
        return hmac.compare_digest(word.strip().encode(), self._token.encode())


def is_from_here(headers: object) -> bool:
    """Whether a request to run SQL comes from a page of this server, or from no page at all."""
    get = headers.get  # type: ignore[attr-defined]
    if get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = get("origin")
    return origin is None or origin.partition("://")[2] == get("host")
