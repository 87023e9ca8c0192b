//! `tollgate config`: flags beat the environment, which beats the file, which beats the defaults.

use std::process::Command;

use serde_json::Value;

use crate::scratch::Scratch;
use crate::server::{complaint, tollgate};

fn shown(mut command: Command) -> Vec<(String, Value, String)> {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let entries: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let entry = |it: &Value| (text(&it["setting"]), it["value"].clone(), text(&it["origin"]));
    entries.as_array().unwrap().iter().map(entry).collect()
}

fn find(entries: &[(String, Value, String)], setting: &str) -> (Value, String) {
    let (_, value, origin) = entries.iter().find(|(name, ..)| name == setting).unwrap();
    (value.clone(), origin.clone())
}

#[test]
fn each_beats_the_one_before_and_its_origin_is_told() {
    let scratch = Scratch::new();
    let file = scratch.write("settings.yaml", "http: 127.0.0.1:1\nresp: 127.0.0.1:2\nadmin: 127.0.0.1:3\n");
    let mut command = tollgate(&["config", "-o", "json", "--config", &file, "--http", "127.0.0.1:7"]);
    command.env("TOLLGATE_HTTP", "127.0.0.1:8").env("TOLLGATE_RESP", "127.0.0.1:9");
    let entries = shown(command);
    assert_eq!(find(&entries, "http"), ("127.0.0.1:7".into(), "flag --http".to_owned()));
    assert_eq!(find(&entries, "resp"), ("127.0.0.1:9".into(), "environment TOLLGATE_RESP".to_owned()));
    assert_eq!(find(&entries, "admin"), ("127.0.0.1:3".into(), format!("file {file}:3")));
    assert_eq!(find(&entries, "max_keys"), ("auto".into(), "default".to_owned()));
    assert_eq!(find(&entries, "policy"), (Value::Null, "default".to_owned()));
}

#[test]
fn the_file_may_be_named_by_the_environment_and_be_json() {
    let scratch = Scratch::new();
    let file = scratch.write("settings.json", "{\"max_keys\": 5, \"log\": \"json\"}");
    let mut command = tollgate(&["config", "--json"]);
    command.env("TOLLGATE_CONFIG", &file);
    assert_eq!(find(&shown(command), "max_keys"), ("5".into(), format!("file {file}:1")));
}

#[test]
fn secrets_are_masked_wherever_they_come_from() {
    let scratch = Scratch::new();
    let secret = scratch.write("secret", "open sesame\n");
    let file = scratch.write("settings.yaml", "resp_password: open sesame\n");
    let commands =
        [tollgate(&["config", "--config", &file]), tollgate(&["config", "--resp-password-file", &secret]), {
            let mut command = tollgate(&["config"]);
            command.env("TOLLGATE_RESP_PASSWORD", "open sesame");
            command
        }];
    for mut command in commands {
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("********") && !text.contains("sesame"), "{text}");
    }
}

#[track_caller]
fn check(arguments: &[&str], set: &[(&str, &str)], code: i32, expected: &str) {
    let mut command = tollgate(arguments);
    command.envs(set.iter().copied());
    let (found, said) = complaint(command);
    assert_eq!((found, said), (Some(code), format!("{expected}\n")));
}

#[test]
fn mistakes_are_one_line_with_place_value_and_cure() {
    let cure = "write `host:port` as in 127.0.0.1:8080 or [::1]:8080, `unix:PATH` or `off`";
    check(&["serve", "--http", "8080"], &[], 2, &format!("error: --http is '8080': it has no port; {cure}"));
    check(
        &["config"],
        &[("TOLLGATE_RESP", "x")],
        1,
        &format!("error: TOLLGATE_RESP is 'x': it has no port; {cure}"),
    );
    check(
        &["config", "--max-keys", "0"],
        &[],
        2,
        "error: --max-keys is '0': use auto, or a whole number from 1 to 20000000000",
    );
    check(
        &["config", "--grace", "5"],
        &[],
        2,
        "error: --grace is '5': use a whole number with its unit, as in 500ms, 60s or 5m; at most 24h",
    );
    check(
        &["config", "--snapshot-every", "99ms"],
        &[],
        2,
        "error: --snapshot-every is '99ms': use 100ms or more",
    );
    check(&["config", "--log", "xml"], &[], 2, "error: --log is 'xml': use text or json");
    check(
        &["serve", "--brust", "5"],
        &[],
        2,
        "error: unexpected argument '--brust' found; see 'tollgate serve --help'",
    );
}

#[test]
fn mistakes_in_the_file_have_their_line() {
    let scratch = Scratch::new();
    let fault = |text: &str| {
        let file = scratch.write("settings.yaml", text);
        let (code, said) = complaint(tollgate(&["serve", "--config", &file]));
        assert_eq!(code, Some(1), "{said}");
        said.replace(&file, "F").lines().next().unwrap().to_owned()
    };
    assert_eq!(
        fault("http: off\nmax_keys: many\n"),
        "error: F:2: `max_keys` is 'many': use auto, or a whole number from 1 to 20000000000"
    );
    assert!(
        fault("\n\nhtpp: off\n")
            .starts_with("error: F:3: `htpp` is 'off': there is no such setting; there are policy, store,")
    );
    assert!(fault("http: [1]\n").starts_with("error: F:1: `http` is no plain value;"));
    let (code, said) = complaint(tollgate(&["serve", "--config", &scratch.path("none")]));
    assert!(code == Some(1) && said.starts_with("error: cannot read the settings '"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn what_this_build_does_not_have_is_refused_in_so_many_words() {
    check(
        &["serve", "--grpc", "127.0.0.1:8081"],
        &[],
        2,
        "error: --grpc is '127.0.0.1:8081': this build has no such door yet; use off",
    );
    check(
        &["serve", "--decision-log", "x"],
        &[],
        2,
        "error: --decision-log is 'x': nothing in this build writes a decision log yet; leave it out",
    );
    check(
        &["serve"],
        &[("TOLLGATE_GRPC", "127.0.0.1:8081")],
        1,
        "error: TOLLGATE_GRPC is '127.0.0.1:8081': this build has no such door yet; use off",
    );
}

#[test]
fn a_secret_is_given_once_and_is_not_empty() {
    let scratch = Scratch::new();
    let empty = scratch.write("empty", "\n");
    check(
        &["config", "--resp-password-file", &empty],
        &[],
        2,
        &format!(
            "error: --resp-password-file is '{empty}': the file is empty; write the secret into it, or leave the setting out"
        ),
    );
    let (secret, file) = ("put the secret there", "put the name of the secret's file there");
    for (variable, name, fix) in [
        ("TOLLGATE_RESP_PASSWORD", "serve", secret),
        ("TOLLGATE_RESP_PASSWORD_FILE", "serve", file),
        ("TOLLGATE_ADMIN_TOKEN", "serve", secret),
        ("TOLLGATE_ADMIN_TOKEN_FILE", "config", file),
        ("TOLLGATE_IDENTIFIERS_SECRET", "config", secret),
        ("TOLLGATE_STORE_FILE", "config", file),
    ] {
        let expected =
            format!("error: {variable} is '': the variable is set but empty; {fix}, or unset the variable");
        check(&[name], &[(variable, "")], 1, &expected);
    }
    check(
        &["serve"],
        &[("TOLLGATE_RESP_PASSWORD", "sesame7")],
        1,
        "error: TOLLGATE_RESP_PASSWORD is '********': the password has 7 bytes; use at least 8, for example the output of `openssl rand -hex 32`",
    );
    let (code, said) = complaint({
        let mut command = tollgate(&["config"]);
        command.env("TOLLGATE_RESP_PASSWORD", "hush-hush").env("TOLLGATE_RESP_PASSWORD_FILE", &empty);
        command
    });
    assert!(code == Some(1) && said.contains("keep one of") && !said.contains("hush"), "{said}");
}

#[test]
fn a_variable_that_is_no_setting_is_warned_of_but_not_those_of_kubernetes() {
    let mut command = tollgate(&["config"]);
    command
        .env("TOLLGATE_HTPP", "off")
        .env("TOLLGATE_SERVICE_HOST", "10.0.0.1")
        .env("TOLLGATE_PORT_8080_TCP", "tcp://10.0.0.1:8080");
    let (code, said) = complaint(command);
    assert_eq!(
        (code, said.as_str()),
        (Some(0), "warning: TOLLGATE_HTPP is no setting and was passed over; unset it, or check its name\n")
    );
}
