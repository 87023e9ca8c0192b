"""A service that Tollgate limits: GET / and POST /login."""
import os
from fastapi import FastAPI
from fastapi.responses import PlainTextResponse
from tollgate import Tollgate

app = FastAPI()
# Behind a proxy, say whose X-Forwarded-For is believed: uvicorn --forwarded-allow-ips. Else the address is the socket's.
app.add_middleware(Tollgate, url=os.environ.get("TOLLGATE_URL", "http://127.0.0.1:8080"), headers=["x-api-key"],
                   fail_closed=os.environ.get("FAIL_CLOSED") == "1")

@app.get("/", response_class=PlainTextResponse)
async def hello():
    return "hello\n"

@app.post("/login", response_class=PlainTextResponse)
async def login():
    return "welcome\n"
