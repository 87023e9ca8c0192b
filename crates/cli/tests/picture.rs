//! `tollgate demo --svg`: a picture that stands by itself, and is the one in the documentation.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

#[path = "picture/well_formed.rs"]
mod well_formed;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The pictures in the documentation, and how they were asked for.
const IN_THE_DOCUMENTATION: [(&str, &str); 4] = [
    ("algorithms.svg", ""),
    ("double-window.svg", "--scene double-window"),
    ("idle-reward.svg", "--scene idle-reward"),
    ("burst.svg", "--scene burst"),
];

fn draw(flags: &str, path: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .arg("demo")
        .args(flags.split_whitespace())
        .arg("--svg")
        .arg(path)
        .output()
        .unwrap()
}

/// The picture that these flags draw.
fn drawn(flags: &str, name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let Output { status, stderr, .. } = draw(flags, &path);
    assert!(status.success(), "{flags}: {}", String::from_utf8_lossy(&stderr));
    fs::read_to_string(path).unwrap()
}

#[test]
fn the_pictures_in_the_documentation_are_those_drawn_today() {
    for (name, flags) in IN_THE_DOCUMENTATION {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/images").join(name);
        let today = drawn(flags, &format!("today-{name}"));
        if std::env::var_os("TOLLGATE_APPROVE").is_some() {
            fs::write(&path, &today).unwrap();
        }
        let committed = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == today,
            "docs/images/{name} is not what the engine does today. Look at the new one, and commit it:\n  \
             cargo run -p tollgate-cli -- demo {flags} --svg docs/images/{name}"
        );
    }
}

#[test]
fn every_picture_is_well_formed_and_needs_nothing_else() {
    for (number, flags) in [
        "",
        "--scene burst",
        "--scene worked-example",
        "--rate 60 --burst 1",
        "--rate 1000000000 --burst 1000000000000",
        "--rate 0.001 --burst 1.5 --every 1ms --seconds 1",
        "--rate 1000000000 --every 12h --seconds 86400",
    ]
    .into_iter()
    .enumerate()
    {
        let svg = drawn(flags, &format!("well-formed-{number}.svg"));
        if let Err(fault) = well_formed::check(&svg) {
            panic!("{flags}: {fault}");
        }
        for foreign in ["<script", "<image", "@import", "url(", "href"] {
            assert!(!svg.contains(foreign), "{flags}: {foreign}");
        }
        for needed in ["<title", "<desc", "viewBox", "prefers-color-scheme: dark", "in seconds"] {
            assert!(svg.contains(needed), "{flags}: no {needed}");
        }
    }
}

#[test]
fn the_legend_names_every_algorithm_of_the_scene() {
    let svg = drawn("--scene burst", "legend.svg");
    for name in ["token bucket", "leaky bucket", "fixed window", "sliding counter", "sliding log"] {
        assert!(svg.contains(&format!(">{name}, ")), "{name}");
    }
}

#[test]
fn the_file_is_named_on_stderr_and_the_story_stays_on_stdout() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("told.svg");
    let Output { status, stdout, stderr } = draw("--scene burst", &path);
    assert!(status.success());
    let (stdout, stderr) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
    assert!(stderr.starts_with(&format!("wrote {}", path.display())), "{stderr}");
    assert!(stdout.starts_with("One burst") && !stdout.contains("<svg"), "{stdout}");
}

#[test]
fn a_file_that_cannot_be_written_is_named_with_its_cure() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    for path in [folder.join("no/such/folder/demo.svg"), folder] {
        let Output { status, stdout, stderr } = draw("--scene burst", &path);
        assert_eq!((status.code(), stdout.len()), (Some(1), 0));
        let complaint = String::from_utf8(stderr).unwrap();
        let (begin, cure) = (
            format!("error: cannot write the picture to '{}': ", path.display()),
            "; give --svg a file in a folder that exists and may be written to\n",
        );
        assert!(complaint.starts_with(&begin) && complaint.ends_with(cure), "{complaint}");
    }
}
