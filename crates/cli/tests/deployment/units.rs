//! deploy/tollgate.service and deploy/tollgate-http.socket: systemd takes them, and they give the service next to nothing.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Output};

use crate::component::{is_skipped, tool};
use crate::mortal::mortal;
use crate::process::{Process, tollgate};
use crate::scratch::Scratch;

const DEPLOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy");

fn unit(name: &str) -> String {
    std::fs::read_to_string(Path::new(DEPLOY).join(name)).unwrap()
}

/// The value of a setting of a unit.
fn setting(unit: &str, name: &str) -> String {
    let found = unit.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    found.unwrap_or_else(|| panic!("no {name}=")).to_owned()
}

/// The units, with the binary under test in the place of the one that is installed.
fn units() -> Scratch {
    let scratch = Scratch::new();
    let service = unit("tollgate.service").replace("/usr/local/bin/tollgate", env!("CARGO_BIN_EXE_tollgate"));
    scratch.write("tollgate.service", &service);
    scratch.write("tollgate-http.socket", &unit("tollgate-http.socket"));
    scratch
}

#[test]
fn systemd_finds_no_fault_with_the_units() {
    if is_skipped("systemd") {
        return;
    }
    let units = units();
    let mut verify = Command::new(tool("bin/systemd"));
    verify.arg("verify").args([units.path("tollgate.service"), units.path("tollgate-http.socket")]);
    let Output { status, stdout, stderr } = verify.output().unwrap();
    let said = [stdout, stderr].concat();
    // It also judges whatever other units are on the machine.
    let said: String =
        String::from_utf8_lossy(&said).lines().filter(|line| line.contains("tollgate")).collect();
    assert!(status.success() && said.is_empty(), "{status}: {said}");
    // That says something: a setting that is none is found.
    units
        .write("tollgate.service", &format!("{}\n[Service]\nNoNewPrivilege=yes\n", unit("tollgate.service")));
    let found =
        Command::new(tool("bin/systemd")).arg("verify").arg(units.path("tollgate.service")).output().unwrap();
    assert!(String::from_utf8_lossy(&found.stderr).contains("NoNewPrivilege"), "{found:?}");
}

#[test]
fn the_service_is_hardly_exposed() {
    if is_skipped("systemd") {
        return;
    }
    let units = units();
    let mut judge = Command::new(tool("bin/systemd"));
    judge.args(["security", "--offline=true", "--no-pager", &units.path("tollgate.service")]);
    let output = judge.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let level =
        said.lines().find_map(|line| line.split_once("exposure level for tollgate.service: ")).unwrap().1;
    let level: f64 = level.split(' ').next().unwrap().parse().unwrap();
    assert!(level <= 1.5, "{said}");
}

#[test]
fn the_units_say_what_the_command_understands() {
    let (service, socket) = (unit("tollgate.service"), unit("tollgate-http.socket"));
    let start = setting(&service, "ExecStart");
    let flags = start.strip_prefix("/usr/local/bin/tollgate serve ").unwrap();
    let output = tollgate(&format!("config {flags}")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(setting(&service, "Type"), "notify");
    let watchdog_s: u64 = setting(&service, "WatchdogSec").parse().unwrap();
    assert!(watchdog_s >= 10, "a machine that is busy for a moment is not dead");
    assert_eq!(setting(&socket, "FileDescriptorName"), "http");
    assert_eq!(setting(&socket, "Service"), "tollgate.service");
    let stop_s: u64 = setting(&service, "TimeoutStopSec").parse().unwrap();
    let settings = String::from_utf8(output.stdout).unwrap();
    let grace = settings.lines().find(|line| line.starts_with("grace ")).unwrap();
    let grace_s: u64 = grace.split_whitespace().nth(1).unwrap().trim_end_matches('s').parse().unwrap();
    assert!(stop_s > 2 * grace_s, "systemd waits longer than open requests and the last snapshot may take");
    let snapshot = settings.lines().find(|line| line.starts_with("snapshot ")).unwrap();
    let folder = format!("/var/lib/{}/", setting(&service, "StateDirectory"));
    assert!(snapshot.split_whitespace().nth(1).unwrap().starts_with(&folder), "{snapshot}");
    assert!(settings.contains(&setting(&socket, "ListenStream")), "the socket is where the door would be");
}

#[test]
fn systemds_own_activator_passes_the_socket() {
    if is_skipped("systemd") {
        return;
    }
    let scratch = Scratch::new();
    let path = scratch.path("http.sock");
    let activate = tool("systemd/usr/bin/systemd-socket-activate");
    let libraries =
        Path::new(&tool("systemd/usr/lib")).read_dir().unwrap().map(|entry| entry.unwrap().path());
    let libraries: Vec<String> = libraries.map(|path| format!("{0}:{0}/systemd", path.display())).collect();
    let mut activated = mortal(&activate);
    activated.args([
        "--listen",
        &path,
        "--fdname=http",
        "--setenv=RUST_LOG=info",
        env!("CARGO_BIN_EXE_tollgate"),
    ]);
    activated.args(["serve", "--http", "off", "--resp", "off", "--admin", "off"]);
    activated.env("LD_LIBRARY_PATH", libraries.join(":")).stdin(std::process::Stdio::null());
    let mut server = Process::start(activated);
    server.wait_for("Listening on ");
    // The first connection starts the server.
    let first = UnixStream::connect(&path).unwrap();
    assert_eq!(crate::service_manager::check_over(first), "HTTP/1.1 200 OK");
    server.wait_for("  store ");
    assert_eq!(server.door("http"), format!("unix:{path}"));
}
