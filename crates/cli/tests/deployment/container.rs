//! deploy/Dockerfile and deploy/compose.yaml, as far as they can be judged without Docker: what they name is there, what they set is
//! accepted, and the workspace that is copied is whole.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use granit_parser::{Event, Parser};

use crate::process::tollgate;
use crate::scratch::Scratch;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The instructions of the Dockerfile: name and rest, on one line each.
fn instructions() -> Vec<(String, String)> {
    let text = text("deploy/Dockerfile").replace("\\\n", " ");
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| line.split_once(' ').unwrap())
        .map(|(name, rest)| (name.to_owned(), rest.to_owned()))
        .collect()
}

/// Those of the stage of this name.
fn stage(name: &str) -> Vec<(String, String)> {
    let all = instructions().into_iter();
    let from = all
        .skip_while(|(instruction, rest)| instruction != "FROM" || !rest.ends_with(&format!(" AS {name}")));
    let mut seen = 0;
    let within = from.take_while(|(instruction, _)| {
        seen += usize::from(instruction == "FROM");
        seen == 1
    });
    within.collect()
}

/// What is copied from the repository.
fn copied() -> Vec<String> {
    let copies =
        instructions().into_iter().filter(|(name, rest)| name == "COPY" && !rest.starts_with("--from"));
    let mut found = Vec::new();
    for (_, rest) in copies {
        let words: Vec<&str> = rest.split_whitespace().collect();
        let (_, sources) = words.split_last().unwrap();
        found.extend(sources.iter().map(|source| (*source).to_owned()));
    }
    found
}

/// Whether `tollgate config` takes these settings without a word.
#[track_caller]
fn assert_settings(settings: &[(String, String)]) {
    let settings = settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let Output { status, stderr, .. } = tollgate("config").envs(settings).output().unwrap();
    let stderr = String::from_utf8_lossy(&stderr);
    assert!(status.success() && stderr.is_empty(), "{stderr}");
}

#[test]
fn what_the_image_copies_is_there_and_not_ignored() {
    let ignored = text("deploy/Dockerfile.dockerignore");
    assert!(ignored.lines().any(|line| line == "*"));
    for source in copied() {
        assert!(root().join(&source).exists(), "{source}");
        assert!(ignored.lines().any(|line| line == format!("!{source}")), "{source} is ignored");
    }
}

#[test]
fn what_the_image_copies_is_a_whole_workspace() {
    let copy = Scratch::new();
    // The page is no part of it.
    for source in copied().into_iter().filter(|source| source != "web") {
        let status =
            Command::new("cp").arg("-R").arg(root().join(source)).arg(copy.folder()).status().unwrap();
        assert!(status.success());
    }
    let mut tree = Command::new(env!("CARGO"));
    tree.args(["tree", "--locked", "--offline", "--package", "tollgate-cli", "--edges", "normal,build"]);
    let output = tree.current_dir(copy.folder()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let built = stage("build").into_iter().find(|(name, _)| name == "RUN").unwrap().1;
    assert!(
        built.contains("cargo build --release --locked --package tollgate-cli --bin tollgate"),
        "{built}"
    );
}

#[test]
fn the_image_has_a_compiler_that_is_new_enough() {
    let manifest = text("Cargo.toml");
    let version =
        manifest.lines().find_map(|line| line.strip_prefix("rust-version = ")).unwrap().trim_matches('"');
    let (_, from) = &stage("build")[0];
    assert!(from.starts_with(&format!("rust:{version}-")), "{from}");
}

#[test]
fn the_image_has_the_page_built_by_a_node_that_is_new_enough() {
    let page = stage("page");
    let version = page[0].1.strip_prefix("node:").and_then(|rest| rest.split(['-', ' ']).next()).unwrap();
    assert!(version.parse::<u32>().unwrap() >= 22, "{version}");
    let built = &page.iter().find(|(name, _)| name == "RUN").unwrap().1;
    assert!(built.contains("npm ci --ignore-scripts") && built.ends_with("npm run build"), "{built}");
    assert!(text("web/package.json").contains("\"build\": "));
    let taken = ("COPY".to_owned(), "--from=page /web/dist web/dist".to_owned());
    let of_build = stage("build");
    let at = of_build.iter().position(|instruction| *instruction == taken).unwrap();
    assert!(at < of_build.iter().position(|(name, _)| name == "RUN").unwrap(), "before it is embedded");
}

#[test]
fn the_image_needs_no_root_and_no_shell() {
    let all = instructions();
    let last_stage = all.iter().rposition(|(name, _)| name == "FROM").unwrap();
    let stage = &all[last_stage..];
    let of = |wanted: &str| stage.iter().find(|(name, _)| name == wanted).unwrap().1.clone();
    assert!(stage.iter().all(|(name, _)| name != "RUN"));
    assert!(of("USER").split(':').all(|id| id.parse::<u32>().unwrap() > 0));
    let binary = of("COPY").split_whitespace().last().unwrap().to_owned();
    assert_eq!(of("ENTRYPOINT"), format!("[\"{binary}\"]"));
    assert_eq!(of("CMD"), "[\"serve\"]");
    assert!(of("HEALTHCHECK").ends_with(&format!("CMD [\"{binary}\", \"healthcheck\"]")));
}

#[test]
fn the_settings_of_the_image_are_settings() {
    let (_, set) = instructions().into_iter().find(|(name, _)| name == "ENV").unwrap();
    let settings = set.split_whitespace().map(|pair| pair.split_once('=').unwrap());
    assert_settings(&settings.map(|(name, value)| (name.to_owned(), value.to_owned())).collect::<Vec<_>>());
}

/// Every plain value of compose.yaml with the path to it: `services.tollgate.image` and `tollgate`. Elements of lists have no name.
fn compose() -> Vec<(String, String)> {
    let text = text("deploy/compose.yaml");
    let (mut values, mut path): (Vec<(String, String)>, Vec<Option<String>>) = (Vec::new(), Vec::new());
    // Whether what is open is a list.
    let mut open: Vec<bool> = Vec::new();
    for event in Parser::new_from_str(&text) {
        let (event, _) = event.unwrap();
        let is_in_mapping = open.last() == Some(&false);
        match event {
            Event::Scalar(value, ..) if is_in_mapping && path.last() == Some(&None) => {
                *path.last_mut().unwrap() = Some(value.into_owned());
            }
            Event::Scalar(value, ..) => {
                let names: Vec<&str> = path.iter().flatten().map(String::as_str).collect();
                values.push((names.join("."), value.into_owned()));
                if is_in_mapping {
                    *path.last_mut().unwrap() = None;
                }
            }
            Event::MappingStart(..) => {
                open.push(false);
                path.push(None);
            }
            Event::SequenceStart(..) => open.push(true),
            Event::MappingEnd | Event::SequenceEnd => {
                if open.pop() == Some(false) {
                    path.pop();
                }
                // What ended was a value.
                if open.last() == Some(&false) {
                    *path.last_mut().unwrap() = None;
                }
            }
            _ => {}
        }
    }
    values
}

/// The values at a path, in order.
fn of<'v>(values: &'v [(String, String)], path: &str) -> Vec<&'v str> {
    values.iter().filter(|(found, _)| found == path).map(|(_, value)| value.as_str()).collect()
}

/// The one volume that can be written to.
const STATE: &str = "state:/var/lib/tollgate";

#[test]
fn snapshot_and_records_of_compose_are_in_a_volume_that_the_image_makes_room_for() {
    let values = compose();
    assert!(of(&values, "services.tollgate.volumes").contains(&STATE));
    assert_eq!(of(&values, "volumes.state.driver"), ["local"]);
    let folder = STATE.split_once(':').unwrap().1;
    let snapshot = of(&values, "services.tollgate.environment.TOLLGATE_SNAPSHOT")[0];
    assert_eq!(snapshot.rsplit_once('/').unwrap().0, folder);
    let (_, set) = instructions().into_iter().find(|(name, _)| name == "ENV").unwrap();
    assert!(set.split_whitespace().any(|pair| pair == format!("TOLLGATE_STATE_DIR={folder}")), "{set}");
    let user = instructions().into_iter().find(|(name, _)| name == "USER").unwrap().1;
    let made = format!("--from=build --chown={user} /state {folder}");
    assert!(instructions().contains(&("COPY".to_owned(), made)), "it is the user's own");
}

#[test]
fn what_compose_mounts_and_names_is_there() {
    let values = compose();
    for service in ["nginx", "tollgate"] {
        let mounts = of(&values, &format!("services.{service}.volumes"));
        assert!(!mounts.is_empty(), "{values:?}");
        for mount in mounts.into_iter().filter(|mount| *mount != STATE) {
            let (host, inside) = mount.split_once(':').unwrap();
            assert!(root().join("deploy").join(host).exists(), "{host}");
            assert!(inside.ends_with(":ro"), "{mount}");
        }
    }
    let dockerfile = of(&values, "services.tollgate.build.dockerfile")[0];
    let context = of(&values, "services.tollgate.build.context")[0];
    assert!(root().join("deploy").join(context).join(dockerfile).exists());
    for service in ["tollgate", "application"] {
        assert_eq!(of(&values, &format!("services.{service}.network_mode")), ["service:nginx"]);
    }
    assert_eq!(of(&values, "services.nginx.ports"), ["127.0.0.1:8000:8000"]);
}

#[test]
fn the_settings_of_compose_are_settings_and_its_policy_is_sound() {
    let values = compose();
    let prefix = "services.tollgate.environment.";
    let settings = values
        .iter()
        .filter_map(|(path, value)| Some((path.strip_prefix(prefix)?.to_owned(), value.clone())));
    let settings: Vec<(String, String)> = settings.collect();
    assert!(settings.len() >= 3, "{values:?}");
    assert_settings(&settings);
    let policy = &settings.iter().find(|(name, _)| name == "TOLLGATE_POLICY").unwrap().1;
    let (host, inside) = of(&values, "services.tollgate.volumes")[0].split_once(':').unwrap();
    let file = policy.strip_prefix(inside.trim_end_matches(":ro")).unwrap();
    let file = format!("{}/deploy/{host}{file}", root().display());
    let output = tollgate(&format!("check {file}")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_container_of_compose_can_write_nothing_but_its_snapshot_and_gain_nothing() {
    let values = compose();
    let only = |path: &str| of(&values, &format!("services.tollgate.{path}"));
    assert_eq!(only("read_only"), ["true"]);
    assert_eq!(only("cap_drop"), ["ALL"]);
    assert_eq!(only("security_opt"), ["no-new-privileges:true"]);
    assert!(only("ports").is_empty(), "nobody but nginx reaches it");
}
