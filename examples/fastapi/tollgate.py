"""Asks Tollgate about every request: admitted ones go on with RateLimit fields, the others get Tollgate's answer."""
import asyncio, logging, time
import httpx
from starlette.requests import Request
from starlette.responses import Response

ITS_OWN = {"connection", "content-length", "date", "keep-alive", "transfer-encoding"}

class Tollgate:
    """`url` is Tollgate's HTTP door, `headers` names the fields that the policy looks at, `user` says of a request who asks.
    `timeout` is how many seconds Tollgate may take; if it does not answer, `fail_closed` refuses the request with 503
    instead of letting it through."""
    def __init__(self, app, url="http://127.0.0.1:8080", headers=(), user=lambda request: None, timeout=0.25, fail_closed=False):
        self.app, self.headers, self.user, self.timeout, self.fail_closed = app, headers, user, timeout, fail_closed
        self.client, self.complained_at = httpx.AsyncClient(base_url=url, timeout=timeout, trust_env=False), float("-inf")

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        request = Request(scope)
        query, fields = scope["query_string"].decode("latin-1"), request.headers
        facts = {"method": request.method, "path": scope["raw_path"].decode("latin-1") + (f"?{query}" if query else ""), "host": fields.get("host"),
                 "ip": request.client and request.client.host, "user": self.user(request), "headers": {name: fields[name] for name in self.headers if name in fields}}
        try:
            asked = self.client.post("/v1/check", json={name: fact for name, fact in facts.items() if fact is not None})
            answer = await asyncio.wait_for(asked, self.timeout)
            verdict = answer.json()
            if "admitted" not in verdict and answer.status_code not in (400, 413):
                raise ValueError(f"{answer.status_code} {answer.reason_phrase}")
        except (httpx.HTTPError, asyncio.TimeoutError, ValueError, TypeError) as error:
            if time.monotonic() - self.complained_at > 1:  # Once a second will do.
                self.complained_at, fate = time.monotonic(), "refused" if self.fail_closed else "let through"
                logging.getLogger("uvicorn.error").error("tollgate does not answer, requests are %s: %r", fate, error)
            refusal = Response('{"title":"Service Unavailable","status":503}', 503, {"retry-after": "1"}, "application/problem+json")
            return await (refusal if self.fail_closed else self.app)(scope, receive, send)
        told = {name: value for name, value in answer.headers.items() if name not in ITS_OWN}
        if not verdict.get("admitted"):
            return await Response(answer.content, answer.status_code, told)(scope, receive, send)
        await asyncio.sleep(verdict.get("delay_ms", 0) / 1000)  # A leaky bucket says when to go on.
        del told["content-type"]
        async def send_with_fields(message):
            if message["type"] == "http.response.start":
                added = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in told.items()]
                message = {**message, "headers": [*message.get("headers", ()), *added]}
            await send(message)
        await self.app(scope, receive, send_with_fields)
