//! examples/fastapi, on the real `FastAPI` and uvicorn.

use crate::component::{is_skipped, tool};
use crate::mortal::mortal;
use crate::neighbour::{Neighbour, promises};
use crate::process::Process;
use crate::scratch::Scratch;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/fastapi");

const FASTAPI: Neighbour = Neighbour {
    start: |tollgate, fail_closed| {
        let copy = Scratch::new();
        std::fs::copy(format!("{EXAMPLE}/tollgate.py"), copy.path("tollgate.py")).unwrap();
        // Somebody logs in, and a machine that is busy with other tests may take its time.
        let user = "user=lambda request: (lambda user: int(user) if user.isdigit() else user or None)(request.headers.get('x-user', '')), headers=";
        let service = std::fs::read_to_string(format!("{EXAMPLE}/service.py")).unwrap();
        copy.write("service.py", &service.replace("headers=", &format!("timeout=3, {user}")));
        let mut uvicorn = mortal(tool("bin/fastapi"));
        uvicorn.args(["-B", "-m", "uvicorn", "service:app", "--port", "0", "--app-dir"]).arg(copy.folder());
        uvicorn.env("TOLLGATE_URL", tollgate).env("FAIL_CLOSED", if fail_closed { "1" } else { "" });
        let mut service = Process::start(uvicorn);
        let line = service.wait_for("Uvicorn running on ");
        let url = line.split_whitespace().find(|word| word.starts_with("http://")).unwrap();
        (service, format!("{url}/"))
    },
};

promises!(
    "fastapi",
    FASTAPI,
    [
        clients_see_what_tollgate_says,
        the_policy_sees_the_request,
        connections_are_used_again,
        delays_are_kept,
        a_stopped_tollgate_stops_nobody,
        a_hanging_tollgate_hangs_nobody,
        one_switch_fails_closed,
        nonsense_is_no_way_around,
        denials_are_remembered,
        a_full_queue_refuses,
        a_full_tollgate_refuses,
        strange_replies_admit_nothing,
    ]
);

/// The test client of the framework: its peer `testclient` is no address, and every request has an event loop of its own.
const TEST_CLIENT: &str = r#"
import sys
from fastapi import FastAPI, WebSocket
from fastapi.testclient import TestClient
from starlette.websockets import WebSocketDisconnect
from tollgate import Tollgate

app = FastAPI()
app.add_middleware(Tollgate, url=sys.argv[1], user=lambda request: 42, timeout=3)

@app.get("/")
async def hello():
    return "hello"

@app.websocket("/socket")
async def socket(websocket: WebSocket):
    await websocket.accept()
    await websocket.close()

client = TestClient(app)
print("statuses", client.get("/").status_code, client.get("/").status_code)
with TestClient(app) as client:
    with client.websocket_connect("/socket"):
        print("socket open")
    print("statuses", client.get("/").status_code, client.get("/").status_code)
    try:
        with client.websocket_connect("/socket"):
            print("socket open")
    except WebSocketDisconnect as refused:
        print("socket refused", refused.code)
"#;

#[test]
fn the_test_client_is_one_client_with_a_limit() {
    if is_skipped("fastapi") {
        return;
    }
    let copy = Scratch::new();
    std::fs::copy(format!("{EXAMPLE}/tollgate.py"), copy.path("tollgate.py")).unwrap();
    let policy = copy.write("policy.yaml", "{name: client, scope: ip, rate: 1/m, burst: 3}\n");
    let tollgate = Process::serve(&format!("--policy {policy}"));
    let mut python = mortal(tool("bin/fastapi"));
    python.args(["-B", &copy.write("tests.py", TEST_CLIENT), &format!("http://{}", tollgate.door("http"))]);
    let (status, said) = Process::start(python).ended();
    let expected = "statuses 200 200\nsocket open\nstatuses 429 429\nsocket refused 1013";
    assert!(status.success() && said.contains(expected), "{said}");
}
