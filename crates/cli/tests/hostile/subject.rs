//! Targets of the attacks: a proxy with its recipe, or a service with an example middleware. Tollgate decides, with the policy of the
//! recipes and a refill so slow that no test sees it: a client's burst of three is all that may reach the application.

use std::path::{Path, PathBuf};

use crate::component::{is_skipped, tool};
use crate::ports;
use crate::process::Process;
use crate::recipe::{CADDY, HAPROXY, NGINX, Recipe, TRAEFIK, TRAEFIK_FAIL_OPEN, docs};
use crate::stack::{Folder, Stack, tollgate};

/// Requests of one client that may reach the application.
pub(crate) const BURST: usize = 3;

/// Something that asks Tollgate about requests.
#[derive(Clone, Copy)]
pub(crate) enum Subject {
    Proxy(&'static Recipe),
    Example(&'static Example),
}

/// An example middleware.
pub(crate) struct Example {
    name: &'static str,
    files: &'static [&'static str],
    /// The file whose line `before` gets `count` put before it, which adds a byte to the file `reached` for every request.
    service: &'static str,
    before: &'static str,
    count: &'static str,
    command: fn(folder: &str, port: u16) -> Vec<String>,
}

pub(crate) const SUBJECTS: [(&str, Subject); 7] = [
    ("nginx", Subject::Proxy(&NGINX)),
    ("caddy", Subject::Proxy(&CADDY)),
    ("traefik", Subject::Proxy(&TRAEFIK)),
    ("traefik_fail_open", Subject::Proxy(&TRAEFIK_FAIL_OPEN)),
    ("haproxy", Subject::Proxy(&HAPROXY)),
    ("express", Subject::Example(&EXPRESS)),
    ("fastapi", Subject::Example(&FASTAPI)),
];

const EXPRESS: Example = Example {
    name: "express",
    files: &["server.js", "tollgate.js", "package.json"],
    service: "server.js",
    before: "app.get('/'",
    count: "const { appendFileSync } = await import('node:fs');\n\
            app.use((req, res, next) => { appendFileSync('reached', '.'); next(); });\n",
    command: |_, port| vec![format!("PORT={port}"), tool("bin/express"), "server.js".to_owned()],
};

const FASTAPI: Example = Example {
    name: "fastapi",
    files: &["service.py", "tollgate.py"],
    service: "service.py",
    before: "# Behind a proxy",
    count: "class Count:\n    def __init__(self, app):\n        self.app = app\n    \
            async def __call__(self, scope, receive, send):\n        \
            if scope['type'] != 'lifespan':\n            open('reached', 'a').write('.')\n        \
            await self.app(scope, receive, send)\napp.add_middleware(Count)\n",
    command: |folder, port| {
        let uvicorn =
            ["-B", "-m", "uvicorn", "service:app", "--no-access-log", "--app-dir", folder, "--port"];
        let uvicorn = uvicorn.iter().map(|&word| word.to_owned());
        [tool("bin/fastapi")].into_iter().chain(uvicorn).chain([port.to_string()]).collect()
    },
};

/// A running subject with Tollgate and an application.
pub(crate) enum Running {
    /// Also says how many requests the stack itself sent to see whether the proxy is ready.
    Proxy(Box<Stack>, usize),
    Example {
        service: Process,
        _tollgate: Process,
        folder: Folder,
        port: u16,
    },
}

impl Subject {
    /// Starts everything, or nothing if `TOLLGATE_SKIP` names it.
    #[track_caller]
    pub(crate) fn start(self) -> Option<Running> {
        match self {
            Subject::Proxy(recipe) if recipe.is_wanted() => {
                let folder = Folder::new(recipe.proxy);
                let policy = policy(&folder.0);
                let stack = Stack::new(recipe, folder, &policy, None, true);
                let own = stack.application.asked();
                Some(Running::Proxy(Box::new(stack), own))
            }
            Subject::Example(example) if !is_skipped(example.name) => Some(example.start()),
            _ => None,
        }
    }
}

/// The policy of the recipes, without a refill that matters.
fn policy(folder: &Path) -> PathBuf {
    let text = std::fs::read_to_string(docs().join("policy.yaml")).unwrap();
    let limit = "rate: 3/m, burst: 3";
    assert!(text.contains(limit), "{text}");
    let path = folder.join("policy.yaml");
    std::fs::write(&path, text.replace(limit, &format!("rate: 3/d, burst: {BURST}"))).unwrap();
    path
}

impl Example {
    fn start(&self) -> Running {
        let (folder, port, tollgate_port) = (Folder::new(self.name), ports::free(), ports::free());
        let tollgate = tollgate(&folder.0, tollgate_port, &policy(&folder.0));
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(self.name);
        for file in self.files {
            let mut text = std::fs::read_to_string(example.join(file)).unwrap();
            if *file == self.service {
                assert_eq!(text.matches(self.before).count(), 1, "{} in {file}", self.before);
                text = text.replace(self.before, &format!("{}{}", self.count, self.before));
            }
            std::fs::write(folder.0.join(file), text).unwrap();
        }
        if self.name == "express" {
            std::os::unix::fs::symlink(tool("express/node_modules"), folder.0.join("node_modules")).unwrap();
        }
        let url = format!("TOLLGATE_URL=http://127.0.0.1:{tollgate_port}");
        let command = (self.command)(folder.0.to_str().unwrap(), port);
        let arguments: Vec<&str> =
            [url.as_str()].into_iter().chain(command.iter().map(String::as_str)).collect();
        let service = Process::start(Path::new("/usr/bin/env"), &arguments, &folder.0, port);
        Running::Example { service, _tollgate: tollgate, folder, port }
    }
}

impl Running {
    pub(crate) fn port(&self) -> u16 {
        match self {
            Running::Proxy(stack, _) => stack.port,
            Running::Example { port, .. } => *port,
        }
    }

    /// Requests that have reached the application.
    pub(crate) fn reached(&self) -> usize {
        match self {
            Running::Proxy(stack, own) => stack.application.asked() - own,
            Running::Example { folder, .. } => {
                let bytes = std::fs::metadata(folder.0.join("reached")).map_or(0, |file| file.len());
                usize::try_from(bytes).unwrap()
            }
        }
    }

    /// Whether the proxy or the service still runs.
    pub(crate) fn is_running(&mut self) -> bool {
        match self {
            Running::Proxy(stack, _) => stack.proxy.is_running(),
            Running::Example { service, .. } => service.is_running(),
        }
    }
}
