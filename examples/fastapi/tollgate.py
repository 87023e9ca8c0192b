"""Asks Tollgate about every request: admitted ones go on with RateLimit fields, the others get Tollgate's answer."""
import asyncio, logging, time
import httpx
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.responses import Response

ITS_OWN = {"connection", "content-length", "date", "keep-alive", "transfer-encoding"}

class Tollgate(BaseHTTPMiddleware):
    """`url` is Tollgate's HTTP door, `headers` names the fields that the policy looks at, `user` says of a request who asks.
    `timeout` is how many seconds Tollgate may take; if it does not answer, `fail_closed` refuses the request with 503
    instead of letting it through."""
    def __init__(self, app, url="http://127.0.0.1:8080", headers=(), user=lambda request: None, timeout=0.25, fail_closed=False):
        super().__init__(app)
        self.headers, self.user, self.timeout, self.fail_closed, self.complained_at = headers, user, timeout, fail_closed, float("-inf")
        self.client = httpx.AsyncClient(base_url=url, timeout=timeout, trust_env=False)  # Keeps connections open.

    async def dispatch(self, request, call_next):
        query, fields = request.scope["query_string"].decode("latin-1"), request.headers
        facts = {"method": request.method, "path": request.scope["raw_path"].decode("latin-1") + (f"?{query}" if query else ""), "host": fields.get("host"),
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
            return refusal if self.fail_closed else await call_next(request)
        told = {name: value for name, value in answer.headers.items() if name not in ITS_OWN}
        if not verdict.get("admitted"):
            return Response(answer.content, answer.status_code, told)
        await asyncio.sleep(verdict.get("delay_ms", 0) / 1000)  # A leaky bucket says when to go on.
        response = await call_next(request)
        response.headers.update({name: value for name, value in told.items() if name != "content-type"})
        return response
