"""Asks Tollgate about every request: admitted ones go on with RateLimit fields, the others get Tollgate's answer."""
import asyncio, json, logging, time
import httpx

ITS_OWN = {b"connection", b"content-length", b"date", b"keep-alive", b"transfer-encoding"}

class Tollgate:
    """`url` is Tollgate's HTTP door, `headers` names the fields that the policy looks at, `user` says of a scope who asks.
    `timeout` is how many seconds Tollgate may take; if it does not answer, `fail_closed` refuses the request with 503
    instead of letting it through."""
    def __init__(self, app, url="http://127.0.0.1:8080", headers=(), user=lambda scope: None, timeout=0.25, fail_closed=False):
        self.app, self.headers, self.user, self.timeout, self.fail_closed = app, headers, user, timeout, fail_closed
        self.client = httpx.AsyncClient(base_url=url, timeout=timeout, trust_env=False)  # Keeps connections open.
        self.complained_at = float("-inf")

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        try:
            answer = await asyncio.wait_for(self.client.post("/v1/check", json=self.facts(scope)), self.timeout)
            verdict = answer.json()
            if "admitted" not in verdict and answer.status_code not in (400, 413):
                raise ValueError(f"{answer.status_code} {answer.reason_phrase}")
        except (httpx.HTTPError, asyncio.TimeoutError, ValueError, TypeError) as error:
            if time.monotonic() - self.complained_at > 1:  # Once a second will do.
                self.complained_at, fate = time.monotonic(), "refused" if self.fail_closed else "let through"
                logging.getLogger("uvicorn.error").error("tollgate does not answer, requests are %s: %r", fate, error)
            if not self.fail_closed:
                return await self.app(scope, receive, send)
            fields = [(b"retry-after", b"1"), (b"content-type", b"application/problem+json")]
            return await respond(send, 503, fields, b'{"title":"Service Unavailable","status":503}')
        fields = [(name.lower(), value) for name, value in answer.headers.raw if name.lower() not in ITS_OWN]
        if not verdict.get("admitted"):
            return await respond(send, answer.status_code, fields, answer.content)
        await asyncio.sleep(verdict.get("delay_ms", 0) / 1000)  # A leaky bucket says when to go on.
        fields = [field for field in fields if field[0] != b"content-type"]
        async def send_with_fields(message):
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *fields]}
            await send(message)
        await self.app(scope, receive, send_with_fields)

    def facts(self, scope):
        seen = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        path = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
        facts = {"method": scope["method"], "path": path.decode("latin-1"), "host": seen.get("host"), "user": self.user(scope),
                 "ip": scope["client"][0] if scope["client"] else None, "headers": {name: seen[name] for name in self.headers if name in seen}}
        return {name: fact for name, fact in facts.items() if fact is not None}

async def respond(send, status, fields, body):
    fields = [*fields, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": body})
