//! An admin listener behind an nginx that only passes requests on: the proxy opens nothing while there is no token.

use std::path::Path;

use crate::client::{Answer, Ask};
use crate::ports;
use crate::process::Process;
use crate::recipe::{NGINX, write_nginx_conf};
use crate::stack::Folder;

#[test]
fn plain_proxy_pass_opens_nothing_without_a_token() {
    if !NGINX.is_wanted() {
        return;
    }
    let folder = Folder::new("nginx-admin");
    let (proxy_port, admin_port) = (ports::free(), ports::free());
    let (state, admin) = (folder.0.join("state"), format!("127.0.0.1:{admin_port}"));
    let state_dir = state.to_str().unwrap();
    let arguments = ["serve", "--http", "off", "--resp", "off", "--admin", &admin, "--state-dir", state_dir];
    let program = Path::new(env!("CARGO_BIN_EXE_tollgate"));
    let _tollgate = Process::start(program, &arguments, &folder.0, admin_port);
    let server = format!("server {{ listen {proxy_port}; location / {{ proxy_pass http://{admin}; }} }}\n");
    std::fs::write(folder.0.join("tollgate.conf"), server).unwrap();
    write_nginx_conf(&folder.0);
    let _proxy = Process::start(&NGINX.program(), NGINX.arguments, &folder.0, proxy_port);

    for (method, path) in [
        ("GET", "/admin/v1/status"),
        ("GET", "/admin/v1/rules"),
        ("GET", "/admin/v1/tokens"),
        ("GET", "/admin/v1/violations"),
        ("GET", "/admin/v1/events"),
        ("POST", "/admin/v1/orders"),
        ("POST", "/admin/v1/tokens"),
        ("PUT", "/admin/v1/rules/api"),
    ] {
        let ask = || Ask::new(proxy_port, 2, method, path);
        is_unauthorized(&ask().send(), method, path);
        // A client that claims to be on the machine of the server.
        let claims = ["X-Forwarded-For", "X-Real-IP"].into_iter();
        is_unauthorized(&claims.fold(ask(), |ask, field| ask.field(field, "127.0.0.1")).send(), method, path);
    }
    let token = std::fs::read_to_string(state.join(format!("admin-{admin_port}.token"))).unwrap();
    let holder = Ask::new(proxy_port, 2, "GET", "/admin/v1/status");
    let holder = holder.field("Authorization", &format!("Bearer {}", token.trim_end())).send();
    assert_eq!(holder.status, 200, "the proxy reaches the listener: {holder:#?}");
}

#[track_caller]
fn is_unauthorized(answer: &Answer, method: &str, path: &str) {
    assert_eq!(answer.status, 401, "{method} {path}: {answer:#?}");
    assert!(answer.body.contains("no_token_configured"), "{method} {path}: {answer:#?}");
}
