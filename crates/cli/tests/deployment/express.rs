//! examples/express, on the real Express.

use crate::component::{is_skipped, tool};
use crate::mortal::mortal;
use crate::neighbour::{Neighbour, promises};
use crate::process::Process;
use crate::scratch::Scratch;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/express");

const EXPRESS: Neighbour = Neighbour {
    start: |tollgate, fail_closed| {
        let copy = copy();
        // Somebody logs in, and a machine that is busy with other tests may take its time.
        let log_in = "app.use((req, res, next) => { const id = req.get('x-user'); req.user = { id: Number(id) || id }; next(); });";
        let server = std::fs::read_to_string(copy.path("server.js")).unwrap();
        let server =
            server.replace("const app = express();\n", &format!("const app = express();\n{log_in}\n"));
        copy.write("server.js", &server.replace("failClosed:", "timeoutMs: 3000, failClosed:"));
        let mut node = mortal(tool("bin/express"));
        node.arg(copy.path("server.js")).envs([("PORT", "0"), ("TOLLGATE_URL", tollgate)]);
        node.env("FAIL_CLOSED", if fail_closed { "1" } else { "" });
        let mut service = Process::start(node);
        let line = service.wait_for("listening on ");
        (service, format!("{}/", line.trim_start_matches("listening on ")))
    },
};

/// A copy, with the packages beside it that node looks for there. It is read at the start and not needed afterwards.
fn copy() -> Scratch {
    let copy = Scratch::new();
    for name in ["server.js", "tollgate.js", "package.json"] {
        std::fs::copy(format!("{EXAMPLE}/{name}"), copy.path(name)).unwrap();
    }
    std::os::unix::fs::symlink(tool("express/node_modules"), copy.path("node_modules")).unwrap();
    copy
}

promises!(
    "express",
    EXPRESS,
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

#[test]
fn a_port_that_is_taken_is_reported() {
    if is_skipped("express") {
        return;
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let copy = copy();
    let mut node = mortal(tool("bin/express"));
    node.arg(copy.path("server.js")).env("PORT", taken.local_addr().unwrap().port().to_string());
    let (status, said) = Process::start(node).ended();
    assert!(!status.success() && said.contains("EADDRINUSE"), "{said}");
}
