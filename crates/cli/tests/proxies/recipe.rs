//! The recipes: their files in docs/proxies, how their proxy is started with them, and what they promise beside the common.

use std::path::{Path, PathBuf};

/// One recipe.
pub(crate) struct Recipe {
    /// The proxy's name: that of its page, of its files' folder, of its program, and in `TOLLGATE_SKIP`.
    pub(crate) proxy: &'static str,
    pub(crate) files: &'static [&'static str],
    /// What the proxy is started with, in the folder of the files.
    pub(crate) arguments: &'static [&'static str],
    /// Whether admitted clients get the `RateLimit` fields.
    pub(crate) tells_the_admitted: bool,
    /// What clients get while Tollgate is away: 200 means that the application answers.
    pub(crate) away: u16,
    /// The change that makes the contrary of an outage, and what clients get then.
    pub(crate) contrary: Option<Contrary>,
}

/// A change of a recipe.
pub(crate) struct Contrary {
    /// Stands in the first file, once.
    pub(crate) replace: &'static str,
    pub(crate) by: &'static str,
    pub(crate) away: u16,
}

pub(crate) const NGINX: Recipe = Recipe {
    proxy: "nginx",
    files: &["tollgate.conf"],
    arguments: &["-p", ".", "-c", "nginx.conf", "-e", "stderr"],
    tells_the_admitted: true,
    away: 200,
    contrary: Some(Contrary { replace: "        return 204;\n", by: "        return 503;\n", away: 503 }),
};

pub(crate) const CADDY: Recipe = Recipe {
    proxy: "caddy",
    files: &["Caddyfile"],
    arguments: &["run", "--config", "Caddyfile"],
    tells_the_admitted: true,
    away: 200,
    contrary: Some(Contrary {
        replace: "\thandle_errors 502 504 {\n\t\t@away not vars tollgate answered\n\t\treverse_proxy @away 127.0.0.1:9000\n\t}\n",
        by: "",
        away: 502,
    }),
};

pub(crate) const TRAEFIK: Recipe = Recipe {
    proxy: "traefik",
    files: &["traefik.yaml", "tollgate.yaml"],
    arguments: &["--configFile=traefik.yaml"],
    tells_the_admitted: false,
    away: 500,
    contrary: None, // It is a recipe of its own: the next.
};

pub(crate) const TRAEFIK_FAIL_OPEN: Recipe = Recipe {
    files: &["traefik-fail-open.yaml", "tollgate-fail-open.yaml"],
    arguments: &["--configFile=traefik-fail-open.yaml"],
    away: 200,
    ..TRAEFIK
};

pub(crate) const HAPROXY: Recipe = Recipe {
    proxy: "haproxy",
    files: &["haproxy.cfg", "tollgate.lua"],
    arguments: &["-f", "haproxy.cfg"],
    tells_the_admitted: true,
    away: 200,
    contrary: Some(Contrary { replace: " -m str admitted away }", by: " -m str admitted }", away: 503 }),
};

/// Where the recipes are installed, which tests do not need.
const INSTALLED: [&str; 2] = ["/etc/haproxy/", "/etc/traefik/"];

impl Recipe {
    /// Whether its tests are to run. If not, it says so.
    pub(crate) fn is_wanted(&self) -> bool {
        let skip = std::env::var("TOLLGATE_SKIP").unwrap_or_default();
        let is_skipped = skip.split(',').any(|name| name.trim() == self.proxy);
        if is_skipped {
            eprintln!("skipped: {} is named in TOLLGATE_SKIP", self.proxy);
        }
        !is_skipped
    }

    /// The proxy's program.
    #[track_caller]
    pub(crate) fn program(&self) -> PathBuf {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        let program = target.join("tools/bin").join(self.proxy);
        let proxy = self.proxy;
        assert!(
            program.is_file(),
            "{proxy} is not at {}; bring it with `cargo xtask test setup`, or leave it out with TOLLGATE_SKIP={proxy}",
            program.display()
        );
        program
    }

    /// A file of the recipe, as it is.
    pub(crate) fn text(&self, file: &str) -> String {
        std::fs::read_to_string(docs().join(self.proxy).join(file)).unwrap()
    }

    /// The page about it.
    pub(crate) fn page(&self) -> String {
        std::fs::read_to_string(docs().join(format!("{}.md", self.proxy))).unwrap()
    }

    /// Writes its files into a folder, with other ports, and the change if there is one.
    pub(crate) fn install(&self, folder: &Path, ports: &[(&str, u16); 4], change: Option<&Contrary>) {
        for (index, file) in self.files.iter().enumerate() {
            let mut text = self.text(file);
            if let Some(change) = change.filter(|_| index == 0) {
                assert_eq!(text.matches(change.replace).count(), 1, "{} in {file}", change.replace);
                text = text.replace(change.replace, change.by);
            }
            for place in INSTALLED {
                text = text.replace(place, "");
            }
            std::fs::write(folder.join(file), with_ports(&text, ports)).unwrap();
        }
        if self.proxy == "nginx" {
            write_nginx_conf(folder);
        }
    }
}

/// Writes the least of an nginx.conf, in one process, that includes the recipe's file.
pub(crate) fn write_nginx_conf(folder: &Path) {
    let nginx = "daemon off;\nmaster_process off;\npid nginx.pid;\nevents {}\nhttp {\n    access_log off;\n    \
                 client_body_temp_path body;\n    proxy_temp_path proxy;\n    fastcgi_temp_path fastcgi;\n    \
                 uwsgi_temp_path uwsgi;\n    scgi_temp_path scgi;\n    include tollgate.conf;\n}\n";
    std::fs::write(folder.join("nginx.conf"), nginx).unwrap();
}

/// The folder of the recipes.
pub(crate) fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/proxies")
}

/// The text with other ports, each replaced once: a new port may look like an old one.
fn with_ports(text: &str, ports: &[(&str, u16)]) -> String {
    let (mut rest, mut written) = (text, String::new());
    let next = |rest: &str| {
        let found = ports.iter().filter_map(|(old, new)| Some((rest.find(old)?, old.len(), *new)));
        found.min()
    };
    while let Some((at, length, port)) = next(rest) {
        written.push_str(&rest[..at]);
        written.push_str(&port.to_string());
        rest = &rest[at + length..];
    }
    written + rest
}
