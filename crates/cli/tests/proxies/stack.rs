//! Client, proxy, Tollgate and application, put together as a recipe says.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::application::Application;
use crate::client::{Answer, Ask};
use crate::ports;
use crate::process::{Process, eventually};
use crate::recipe::{Contrary, Recipe, docs};

/// Whom the tests are not about: looks whether the proxy is ready.
const WATCHER: u8 = 250;

/// Everything that runs for one test. Ends with it, the proxy first.
pub(crate) struct Stack {
    pub(crate) proxy: Process,
    tollgate: Option<Process>,
    pub(crate) application: Application,
    pub(crate) folder: Folder,
    policy: PathBuf,
    pub(crate) port: u16,
    pub(crate) tollgate_port: u16,
}

/// A folder that goes away with the test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Stack {
    /// All of it.
    #[track_caller]
    pub(crate) fn start(recipe: &Recipe) -> Stack {
        Stack::with(recipe, None, true)
    }

    /// All of it, without Tollgate, and with the change if there is one.
    #[track_caller]
    pub(crate) fn without_tollgate(recipe: &Recipe, change: Option<&Contrary>) -> Stack {
        Stack::with(recipe, change, false)
    }

    #[track_caller]
    fn with(recipe: &Recipe, change: Option<&Contrary>, has_tollgate: bool) -> Stack {
        Stack::new(recipe, Folder::new(recipe.proxy), &docs().join("policy.yaml"), change, has_tollgate)
    }

    /// All of it in this folder, with this policy, with Tollgate or without, and with the change if there is one.
    #[track_caller]
    pub(crate) fn new(
        recipe: &Recipe,
        folder: Folder,
        policy: &Path,
        change: Option<&Contrary>,
        has_tollgate: bool,
    ) -> Stack {
        let program = recipe.program();
        let application = Application::start();
        let (port, tollgate_port) = (ports::free(), ports::free());
        let tollgate = has_tollgate.then(|| tollgate(&folder.0, tollgate_port, policy));
        let ports =
            [("8000", port), ("8080", tollgate_port), ("8079", ports::free()), ("9000", application.port)];
        recipe.install(&folder.0, &ports, change);
        let proxy = Process::start(&program, recipe.arguments, &folder.0, port);
        let policy = policy.to_owned();
        let stack = Stack { proxy, tollgate, application, folder, policy, port, tollgate_port };
        // Traefik listens before it knows where to.
        assert!(eventually(|| stack.get(WATCHER, "/").status != 404), "{} finds nothing", recipe.proxy);
        stack
    }

    /// A request of a client.
    pub(crate) fn ask<'a>(&self, client: u8, method: &'a str, target: &'a str) -> Ask<'a> {
        Ask::new(self.port, client, method, target)
    }

    /// The plainest request of a client.
    #[track_caller]
    pub(crate) fn get(&self, client: u8, target: &str) -> Answer {
        self.ask(client, "GET", target).send()
    }

    /// Tollgate comes back, with full buckets.
    #[track_caller]
    pub(crate) fn start_tollgate(&mut self) {
        self.tollgate = Some(tollgate(&self.folder.0, self.tollgate_port, &self.policy));
    }

    /// Tollgate is killed.
    pub(crate) fn kill_tollgate(&mut self) {
        self.tollgate = None;
    }
}

/// The service, with this policy.
#[track_caller]
pub(crate) fn tollgate(folder: &Path, port: u16, policy: &Path) -> Process {
    let address = format!("127.0.0.1:{port}");
    let arguments = [
        "serve",
        "--policy",
        policy.to_str().unwrap(),
        "--http",
        &address,
        "--resp",
        "off",
        "--admin",
        "off",
    ];
    Process::start(Path::new(env!("CARGO_BIN_EXE_tollgate")), &arguments, folder, port)
}

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folders = Path::new(env!("CARGO_TARGET_TMPDIR")).join("proxies");
        let path = folders.join(format!("{name}-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
