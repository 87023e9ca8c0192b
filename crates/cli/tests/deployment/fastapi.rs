//! examples/fastapi, on the real `FastAPI` and uvicorn.

use crate::component::tool;
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
        let user = "user=lambda scope: dict(scope['headers']).get(b'x-user', b'').decode() or None, headers=";
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
    ]
);
