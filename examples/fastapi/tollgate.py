"""ASGI middleware that asks Tollgate about every request and every WebSocket handshake. Needs Starlette, which FastAPI brings.

Admitted requests go on, with RateLimit fields. The others get Tollgate's reply. A request is let through without a verdict only
if Tollgate is unreachable or does not reply in time, and not even then with `fail_closed`.
"""
import asyncio
import errno
import hashlib
import ipaddress
import json
import logging
from urllib.parse import quote, unquote, urlsplit

from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

CONNECTIONS_MAX = 64  # Checks at the same time, each on a connection of its own.
WAITING_MAX = 256  # Requests that wait for one of these connections. Further requests get 503.
DENIALS_MAX = 4096  # Denials that are remembered.
DENIAL_SECONDS_MAX = 1.0  # A denial is remembered for its wait, and at most for so long.
REPLY_BYTES_MAX = 64 * 1024
NO_ADDRESS = "0.0.0.0"  # Stands for every peer without an IP address: Unix sockets, the test client. They are one client.
NOT_TOLD = {b"connection", b"content-length", b"date", b"keep-alive", b"tollgate-status", b"transfer-encoding"}

# The application has no files, ports or memory left for a connection: a flood can cause that, and it is not Tollgate's fault.
OWN_ERRORS = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL}

log = logging.getLogger("uvicorn.error")


class Tollgate:
    """`url` is the http listener of Tollgate, `headers` names the request fields that the policy looks at, and `user` returns the
    user of a request: text, a number or None. `timeout` is how many seconds Tollgate may take to reply to a check that was sent;
    `fail_closed` then refuses requests with 503 instead of letting them through."""

    def __init__(self, app, url="http://127.0.0.1:8080", headers=(), user=lambda request: None, timeout=1.0, fail_closed=False):
        self.app, self.user, self.timeout, self.fail_closed = app, user, timeout, fail_closed
        self.names, self.url = list(headers), urlsplit(url)
        self.loop, self.idle, self.slots, self.waiting = None, [], None, 0
        self.denials, self.logged_at = {}, float("-inf")

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            try:
                return await self.app(scope, receive, send)
            finally:
                self.close()
        if has_left(scope):
            return await Reply.unavailable().send(scope, receive, send)
        scope = in_origin_form(scope)
        facts = json.dumps(self.facts(scope)).encode()
        try:
            reply = await self.check(facts)
        except OSError as error:  # Also time-outs.
            is_open = not self.fail_closed and error.errno not in OWN_ERRORS
            self.complain("tollgate unreachable, requests %s: %r", "let through" if is_open else "refused", error)
            if is_open:
                return await self.app(scope, receive, send)
            reply = Reply.unavailable()
        except ValueError as error:
            self.complain("reply is not from tollgate, requests refused: %s", error)
            reply = Reply.unavailable()
        except asyncio.QueueFull:
            self.complain("%d requests already wait for a check, further requests refused", WAITING_MAX)
            reply = Reply.unavailable()
        if not reply.admitted:
            return await reply.send(scope, receive, send)
        await asyncio.sleep(reply.verdict.get("delay_ms", 0) / 1000)  # A leaky bucket says when to go on.
        fields = [field for field in reply.fields if field[0] != b"content-type"]
        names = {name for name, _ in fields}

        async def send_with_fields(message):
            if message["type"] == "http.response.start":
                own = [field for field in message.get("headers", []) if field[0].lower() not in names]
                message = {**message, "headers": own + fields}
            await send(message)

        await self.app(scope, receive, send_with_fields)

    def facts(self, scope):
        """What the policy sees of a request."""
        request = Request(scope) if scope["type"] == "http" else HTTPConnection(scope)
        query, user = scope["query_string"].decode("latin-1"), self.user(request)
        # A field that was sent twice is two values: Tollgate must not choose another one than the application.
        sent = {name: request.headers.getlist(name) for name in self.names if name in request.headers}
        facts = {
            "method": scope.get("method", "GET"),
            "path": scope["raw_path"].decode("latin-1") + (f"?{query}" if query else ""),
            "host": request.headers.get("host"),
            "ip": address(scope),
            "headers": sent,
            "user": None if user is None else str(user),
        }
        return {name: fact for name, fact in facts.items() if fact is not None}

    async def check(self, body):
        """Returns Tollgate's reply, or a remembered denial of the same facts.

        Raises OSError if Tollgate is unreachable or too slow, ValueError if something else replied, QueueFull if too many wait."""
        loop, key = asyncio.get_running_loop(), hashlib.blake2b(body, digest_size=16).digest()
        if self.loop is not loop:  # The test client has a loop for each request.
            self.loop, self.idle, self.slots, self.waiting = loop, [], asyncio.Semaphore(CONNECTIONS_MAX), 0
            self.denials = {}
        if denial := self.denied(key):
            return denial
        if self.waiting >= WAITING_MAX:
            raise asyncio.QueueFull
        self.waiting += 1
        try:
            await self.slots.acquire()
        finally:
            self.waiting -= 1
        try:
            # While this request waited, the same may have been denied.
            reply = self.denied(key) or await self.ask(body)
        finally:
            self.slots.release()
        seconds = min(reply.verdict.get("retry_after_ms", 0) / 1000, DENIAL_SECONDS_MAX)
        if not reply.admitted and seconds and reply.until is None:
            reply.until = loop.time() + seconds
            if len(self.denials) >= DENIALS_MAX:
                self.denials.pop(next(iter(self.denials)))
            self.denials[key] = reply
        return reply

    def denied(self, key):
        """The remembered denial of the same facts."""
        denial = self.denials.get(key)
        if denial and self.loop.time() < denial.until:
            return denial
        self.denials.pop(key, None)
        return None

    async def ask(self, body):
        """Sends a check. A connection that Tollgate closed while it was idle is replaced, once."""
        head = f"POST /v1/check HTTP/1.1\r\nhost: {self.url.netloc}\r\ncontent-length: {len(body)}\r\n\r\n"
        while self.idle and (connection := self.idle.pop()):
            if connection.is_open:
                try:
                    return await self.ask_on(connection, head.encode() + body)
                except ConnectionError:
                    break
        return await self.ask_on(await self.connect(), head.encode() + body)

    async def ask_on(self, connection, request):
        try:
            reply = await connection.ask(request, self.timeout)
        except BaseException:
            connection.close()
            raise
        if connection.is_open:
            self.idle.append(connection)
        return reply

    async def connect(self):
        is_tls = self.url.scheme == "https"
        port = self.url.port or (443 if is_tls else 80)
        connecting = asyncio.ensure_future(self.loop.create_connection(Connection, self.url.hostname, port, ssl=is_tls or None))
        try:
            # In ten parts: a busy event loop can use up one of them, and is not taken for a Tollgate that is unreachable.
            for _ in range(10):
                if not connecting.done():
                    await asyncio.wait({connecting}, timeout=self.timeout / 10)
            if not connecting.done():
                raise TimeoutError(f"no connection within {self.timeout} s")
            return connecting.result()[1]
        finally:
            connecting.cancel()  # Without effect if it is done.

    def complain(self, message, *arguments):
        if self.loop.time() - self.logged_at > 1:  # Once a second is enough.
            self.logged_at = self.loop.time()
            log.error(message, *arguments)

    def close(self):
        """Closes the connections. Runs by itself when the application shuts down."""
        for connection in self.idle:
            connection.close()
        self.idle = []


class Connection(asyncio.Protocol):
    """A connection to Tollgate, kept open, with one check at a time."""

    def __init__(self):
        self.transport, self.reply, self.early, self.received, self.is_open = None, None, None, b"", False

    def connection_made(self, transport):
        self.transport, self.is_open = transport, True

    def connection_lost(self, error):
        self.is_open = False
        self.end(error or ConnectionResetError("the connection was closed before the reply"))

    def data_received(self, data):
        self.received += data
        try:
            reply = Reply.parse(self.received)
        except (LookupError, AttributeError, ValueError, OSError) as error:
            self.end(error if isinstance(error, OSError) else ValueError(f"{error!r} in {self.received[:80]!r}"))
            return self.close()
        if reply:
            self.is_open, self.received = self.is_open and reply.keeps_open, b""
            self.end(reply)

    def end(self, reply_or_error):
        if not self.reply:
            self.early = self.early or reply_or_error
        elif not self.reply.done():
            set_it = self.reply.set_exception if isinstance(reply_or_error, Exception) else self.reply.set_result
            set_it(reply_or_error)

    async def ask(self, request, timeout):
        loop = asyncio.get_running_loop()
        self.reply = loop.create_future()
        if self.early:  # A full Tollgate replies before it is asked.
            self.end(self.early)
        self.transport.write(request)

        def is_late(rest):
            # In two parts, with a turn of the loop between them: a reply that has arrived is read before the time is over.
            nonlocal timer
            if rest:
                timer = loop.call_later(rest, is_late, 0)
            else:
                self.end(TimeoutError(f"no reply within {timeout} s"))

        timer = loop.call_later(timeout * 0.9, is_late, timeout * 0.1)
        try:
            return await self.reply
        finally:
            timer.cancel()

    def close(self):
        self.is_open = False
        if not self.transport.is_closing():
            self.transport.abort()


class Reply:
    """A reply of Tollgate: `verdict` is its JSON document, `until` when it is forgotten if it is remembered."""

    def __init__(self, status, fields, body, verdict):
        self.status, self.fields, self.body, self.verdict, self.until, self.keeps_open = status, fields, body, verdict, None, True
        self.admitted = verdict.get("admitted") is True

    @classmethod
    def unavailable(cls):
        fields = [(b"content-type", b"application/problem+json"), (b"retry-after", b"1"), (b"cache-control", b"no-store")]
        return cls(503, fields, b'{"title":"Service Unavailable","status":503}', {})

    @classmethod
    def parse(cls, received):
        """Returns None while the reply is incomplete. Raises OSError if it says that Tollgate is unreachable, and another
        exception if it is not Tollgate's."""
        head, is_whole, body = received.partition(b"\r\n\r\n")
        if len(received) > REPLY_BYTES_MAX:
            raise ValueError("the reply is too long")
        if not is_whole:
            return None
        line, *lines = head.split(b"\r\n")
        status, fields = int(line.split(b" ")[1]), [(name.lower(), value.strip()) for name, _, value in (field.partition(b":") for field in lines)]
        named = dict(fields)
        if b"tollgate-status" not in named and status in (502, 503, 504):
            raise ConnectionError(f"a proxy before tollgate replied {status}")
        if b"tollgate-status" not in named:
            raise ValueError("the reply has no field tollgate-status")
        if len(body) < int(named[b"content-length"]):
            return None
        reply = cls(status, [field for field in fields if field[0] not in NOT_TOLD], body, json.loads(body))
        reply.keeps_open = named.get(b"connection", b"").lower() != b"close"
        return reply

    async def send(self, scope, receive, send):
        if scope["type"] == "websocket":
            await receive()
            return await send({"type": "websocket.close", "code": 1013})  # Before it is accepted: a 403 to the client.
        response = Response(self.body, self.status)
        response.raw_headers = [(b"content-length", str(len(self.body)).encode()), *self.fields]
        await response(scope, receive, send)


def in_origin_form(scope):
    """`GET http://host/path` becomes `GET /path`, for Tollgate and for the application, if the host is that of the Host field.
    Tollgate refuses other targets that are no paths with 400."""
    raw = scope.get("raw_path") or quote(scope["path"]).encode()
    scheme, is_absolute, rest = raw.partition(b"://")
    host = next((value for name, value in scope["headers"] if name == b"host"), b"")
    authority, _, path = rest.partition(b"/")
    if not (is_absolute and scheme.lower() in (b"http", b"https") and authority.lower() == host.lower()):
        return {**scope, "raw_path": raw}
    return {**scope, "raw_path": b"/" + path, "path": unquote("/" + path.decode("latin-1"))}


def has_left(scope):
    """Whether a TCP peer has no address, because it closed the connection. It would count as another client."""
    server = scope.get("server")
    return scope.get("client") is None and server is not None and server[1] is not None


def address(scope):
    """The peer's IP address without a zone, or NO_ADDRESS."""
    peer = scope.get("client")
    try:
        return str(ipaddress.ip_address(peer[0].partition("%")[0]))
    except (TypeError, ValueError):
        return NO_ADDRESS
