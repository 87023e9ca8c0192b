//! The servers that are measured, each a process of its own on the first core, its log in `target/bench-servers`.
//!
//! Promises that a server answers when it is handed out, and that it is gone when it is dropped.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::dialect::Dialect;
use crate::problem::Problem;
use crate::stopwatch::instant;

/// The core of the servers; the generator has the other.
const SERVER_CORE: &str = "0";
const START_MAX: Duration = Duration::from_secs(20);

/// A token bucket as people write it: a hash of balance and time, filled by the server's clock.
const SCRIPT: &str = r"
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local burst, rate = tonumber(ARGV[1]), 1 / 600
local state = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens, at = tonumber(state[1]) or burst, tonumber(state[2]) or now
tokens = math.min(burst, tokens + math.max(0, now - at) * rate)
local denied = 1
if tokens >= 1 then tokens = tokens - 1; denied = 0 end
redis.call('HSET', KEYS[1], 'tokens', tokens, 'at', now)
redis.call('EXPIRE', KEYS[1], math.ceil(burst / rate))
return {denied, math.floor(tokens)}
";

/// A server under measurement.
pub(crate) struct Server {
    child: Child,
    /// Its Redis protocol.
    pub(crate) resp: SocketAddr,
    /// Its HTTP door; of Redis, which has none, the same.
    pub(crate) http: SocketAddr,
}

impl Server {
    /// Tollgate, in memory, with room for so many keys.
    pub(crate) fn tollgate(keys: u32) -> Result<Self, Problem> {
        let (resp, http) = (free_address()?, free_address()?);
        let program = beside_this("tollgate")?;
        let mut command = pinned(&program);
        command.args(["serve", "--admin", "off", "--resp", &resp.to_string(), "--http", &http.to_string()]);
        command.args(["--max-keys", &keys.to_string()]);
        Self::start("tollgate", command, resp, http)
    }

    /// Redis as it comes, without persistence.
    pub(crate) fn redis() -> Result<Self, Problem> {
        Self::redis_of(Path::new("redis-server"))
    }

    /// The same, of the version that tests are run with.
    pub(crate) fn redis_of_tools() -> Result<Self, Problem> {
        Self::redis_of(&tool("redis")?)
    }

    fn redis_of(program: &Path) -> Result<Self, Problem> {
        let resp = free_address()?;
        let mut command = pinned(program);
        command.args([
            "--port",
            &resp.port().to_string(),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
        ]);
        Self::start("redis", command, resp, resp)
    }

    /// throttlecrab-server with its periodic store, as its documentation recommends.
    pub(crate) fn throttlecrab(keys: u32) -> Result<Self, Problem> {
        let (resp, http) = (free_address()?, free_address()?);
        let mut command = pinned(&tool("throttlecrab-server")?);
        let port = |address: SocketAddr| address.port().to_string();
        command.args(["--redis", "--redis-host", "127.0.0.1", "--redis-port", &port(resp)]);
        command.args(["--http", "--http-host", "127.0.0.1", "--http-port", &port(http)]);
        command.args(["--store", "periodic", "--store-capacity", &keys.to_string(), "--log-level", "error"]);
        Self::start("throttlecrab", command, resp, http)
    }

    /// Loads the script; how to ask for it.
    pub(crate) fn load_script(&self) -> Result<Dialect, Problem> {
        let failed = |error: std::io::Error| Problem::failed(format!("redis takes no script: {error}"));
        let mut stream = TcpStream::connect(self.resp).map_err(failed)?;
        stream.set_read_timeout(Some(START_MAX)).map_err(failed)?;
        write!(stream, "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n${}\r\n{SCRIPT}\r\n", SCRIPT.len())
            .map_err(failed)?;
        // `$40`, the hash, both with their line ends.
        let mut reply = [0; 47];
        stream.read_exact(&mut reply).map_err(failed)?;
        let text = String::from_utf8_lossy(&reply);
        let sha = text.lines().nth(1).filter(|sha| sha.len() == 40);
        let sha = sha.ok_or_else(|| Problem::failed(format!("redis answers SCRIPT LOAD with {text:?}")))?;
        Ok(Dialect::Script { sha: sha.to_owned() })
    }

    /// Resident memory, in bytes.
    pub(crate) fn resident_bytes(&self) -> Result<u64, Problem> {
        crate::resident::bytes_of(self.child.id())
    }

    fn start(name: &str, mut command: Command, resp: SocketAddr, http: SocketAddr) -> Result<Self, Problem> {
        let folder = Path::new("target/bench-servers");
        let log = folder.join(format!("{name}.log"));
        let failed = |error| Problem::failed(format!("cannot start {name}: {error}; {}", cure(name)));
        fs::create_dir_all(folder).map_err(failed)?;
        let file = File::create(&log).map_err(failed)?;
        command.stdin(Stdio::null()).stdout(file.try_clone().map_err(failed)?).stderr(file);
        let child = command.spawn().map_err(failed)?;
        let mut server = Server { child, resp, http };
        let began = instant();
        while !(is_open(resp) && is_open(http)) {
            let has_ended = server.child.try_wait().ok().flatten().is_some();
            if has_ended || instant() - began > START_MAX {
                let said = fs::read_to_string(&log).unwrap_or_default();
                return Err(Problem::failed(format!("{name} does not start; it said:\n{said}")));
            }
            std::thread::yield_now();
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Gone already, perhaps.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The command under `taskset`, on the servers' core.
fn pinned(program: &Path) -> Command {
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", SERVER_CORE]).arg(program);
    command
}

fn cure(name: &str) -> &'static str {
    match name {
        "redis" => "install redis-server and util-linux",
        _ => "run it by `cargo xtask bench server`, which builds it; `taskset` is in util-linux",
    }
}

fn is_open(address: SocketAddr) -> bool {
    TcpStream::connect(address).is_ok()
}

fn free_address() -> Result<SocketAddr, Problem> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = listener.and_then(|listener| listener.local_addr());
    address.map_err(|error| Problem::failed(format!("no free port: {error}")))
}

/// A program that was built into the same folder as this one.
fn beside_this(name: &str) -> Result<PathBuf, Problem> {
    let this = std::env::current_exe().map_err(|error| Problem::failed(format!("who am I? {error}")))?;
    let program = this.with_file_name(name);
    if program.exists() {
        return Ok(program);
    }
    Err(Problem::failed(format!("{name} is not built; run this by `cargo xtask bench server`")))
}

/// A program that xtask has installed.
fn tool(name: &str) -> Result<PathBuf, Problem> {
    let program = Path::new("target/tools/bin").join(name);
    if program.exists() {
        return Ok(program);
    }
    let cure = if name == "redis" { "cargo xtask test setup" } else { "cargo xtask bench server" };
    Err(Problem::failed(format!("{name} is not installed; run `{cure}`")))
}
