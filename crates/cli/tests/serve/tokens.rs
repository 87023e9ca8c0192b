//! Tokens through the doors (K4): only a verified one chooses a tier, whatever becomes of the keys.

use serde_json::{Value, json};

use crate::http_client::Answer;
use crate::key_server::{CERTIFICATE, KeyServer, OTHER_AUTHORITY, ok};
use crate::mint::{self, Signer, jwks, pro};
use crate::scratch::Scratch;
use crate::server::{Server, complaint, tollgate};

const PRO: u64 = 2_000;
const FREE: u64 = 20;

/// Users who have paid have 2000 at once, everybody else 20, and both get them back at once.
fn tiers(keys: &str) -> String {
    format!(
        "{{jwt: {{keys: [{keys}]}}, rules: [\
         {{name: pro, limit_keys: [user], match: {{\"jwt:plan\": pro}}, rate: 1000000/s, burst: {PRO}}}, \
         {{name: free, limit_keys: [user], rate: 1000000/s, burst: {FREE}}}]}}"
    )
}

/// The same, but nothing comes back.
fn strict(policy: &str) -> String {
    policy.replace("rate: 1000000/s", "rate: 1/h")
}

fn at(url: &str) -> String {
    tiers(&format!("{{jwks_url: \"{url}\"}}"))
}

fn described(token: &str) -> String {
    json!({"ip": "192.0.2.7", "headers": {"Authorization": format!("Bearer {token}")}}).to_string()
}

/// What a proxy is told that was asked with this token.
fn forwarded(server: &Server, token: &str) -> Answer {
    let fields = [
        ("x-forwarded-method", "GET"),
        ("x-forwarded-uri", "/"),
        ("x-forwarded-host", "api.example"),
        ("x-forwarded-for", "192.0.2.7"),
        ("authorization", &format!("Bearer {token}")),
    ];
    server.http().request("GET", "/v1/forward-auth/traefik", &fields)
}

/// The burst of the bucket that a request with this token meets, which is the same through both doors.
#[track_caller]
fn tier(server: &Server, token: &str) -> u64 {
    let described = server.post("/v1/peek", &described(token)).json();
    let forwarded = forwarded(server, token);
    let policy = forwarded.header("ratelimit-policy").unwrap();
    let tier = described["limit"].as_u64().unwrap();
    assert!(policy.contains(&format!(";q={tier};")), "{policy} and {described}");
    tier
}

fn count(server: &Server, result: &str) -> u64 {
    let page = server.admin("/metrics").body;
    let sample = format!("tollgate_tokens_total{{result=\"{result}\"}} ");
    page.lines().find_map(|line| line.strip_prefix(&sample)).unwrap().parse().unwrap()
}

fn standing(server: &Server) -> Value {
    server.http().get("/readyz").json()["tokens"].clone()
}

#[test]
fn a_server_starts_without_its_keys_and_verifies_as_soon_as_they_come() {
    let (signer, address) = (Signer::ed("k1"), KeyServer::nowhere());
    let scratch = Scratch::new();
    let policy = scratch.write("policy.yaml", &at(&format!("http://{address}/jwks")));
    let mut server = Server::new(&["--policy", &policy]);
    let token = signer.token(&pro("ann"));
    assert_eq!(tier(&server, &token), FREE);
    assert_eq!(standing(&server), "waiting for keys");
    assert!(server.said.iter().any(|line| line.contains("its tokens count as none: cannot connect")));
    assert_eq!(count(&server, "waiting_for_keys"), 2);
    assert_eq!(server.http().get("/readyz").status, 200, "limits hold without keys, too");

    let keys = KeyServer::at(&address, &jwks(&[&signer]), false);
    server.wait_for("the key set is at hand");
    assert_eq!(tier(&server, &token), PRO);
    assert_eq!((standing(&server), count(&server, "verified")), (json!("ready"), 2));
    let head = keys.wait().to_ascii_lowercase();
    assert!(
        head.starts_with("get /jwks http/1.1\r\n") && head.contains(&format!("host: {address}\r\n")),
        "{head}"
    );
}

#[test]
fn a_new_key_is_fetched_when_a_token_names_it_and_a_flood_of_names_asks_no_more_often() {
    let (old, new) = (Signer::ed("old"), Signer::rsa("new"));
    let keys = KeyServer::new(&jwks(&[&old]));
    let (server, _scratch) = Server::with_policy(&at(&keys.url("/jwks")));
    let token = new.token(&pro("ann"));
    assert_eq!((tier(&server, &old.token(&pro("ann"))), tier(&server, &token)), (PRO, FREE));
    keys.say("/jwks", &ok(&jwks(&[&new])));
    keys.wait();
    for number in 0..100 {
        let header = json!({"alg": "EdDSA", "kid": format!("unknown-{number}")});
        assert_eq!(tier(&server, &format!("{}.AAAA", mint::signed(&header, &pro("ann")))), FREE);
    }
    assert_eq!(keys.asked(), 1, "the first ten seconds are not over");
    keys.wait();
    while server.post("/v1/peek", &described(&token)).json()["limit"] != PRO {}
    assert_eq!(tier(&server, &token), PRO);
    assert_eq!(tier(&server, &old.token(&pro("ann"))), FREE, "a withdrawn key counts no more");
    assert_eq!(keys.asked(), 2);
}

#[test]
fn when_the_server_of_keys_dies_the_last_keys_count() {
    let signer = Signer::ed("k1");
    let keys = KeyServer::new(&jwks(&[&signer]));
    let (mut server, _scratch) = Server::with_policy(&at(&keys.url("/jwks")));
    assert_eq!(tier(&server, &signer.token(&pro("ann"))), PRO);
    drop(keys);
    server.signal("HUP");
    server.wait_for("the key set cannot be fetched, and the one before counts: cannot connect");
    assert_eq!(tier(&server, &signer.token(&pro("ann"))), PRO);
    assert_eq!(standing(&server), "stale keys");
    let page = server.admin("/metrics").body;
    for sample in [
        "tollgate_jwks_refreshes_total{result=\"failed\"} 1",
        "tollgate_jwks_outdated 1",
        "tollgate_token_keys 1",
    ] {
        assert!(page.contains(sample), "{page}");
    }
}

#[test]
fn forged_and_expired_tokens_gain_nothing_through_either_door() {
    let (signer, stranger) = (Signer::rsa("k1"), Signer::rsa("k1"));
    let keys = KeyServer::new(&jwks(&[&signer]));
    let (server, _scratch) = Server::with_policy(&strict(&at(&keys.url("/jwks"))));
    let good = signer.token(&pro("ann"));
    assert_eq!(tier(&server, &good), PRO);
    let (unsigned, signature) = good.rsplit_once('.').unwrap();
    let others = signer.token(&json!({"sub": "bob", "plan": "free", "exp": mint::LATER_S}));
    let mut forgeries = vec![
        stranger.token(&pro("ann")),
        signer.token(&json!({"sub": "ann", "plan": "pro", "exp": 1_000_000_000})),
        signer.token(&json!({"sub": "ann", "plan": "pro"})),
        signer.token(&json!({"sub": "ann", "plan": "pro", "exp": mint::LATER_S, "nbf": mint::LATER_S - 1})),
        format!("{}.", mint::signed(&json!({"alg": "none"}), &pro("ann"))),
        format!("{}.{signature}", mint::signed(&json!({"alg": "NONE", "kid": "k1"}), &pro("ann"))),
        format!("{unsigned}."),
        format!("{unsigned}.{}", others.rsplit_once('.').unwrap().1),
        "a.b.c".to_owned(),
        "x".repeat(20_000),
    ];
    for secret in signer.public_forms() {
        forgeries.push(mint::with_secret(&secret, &json!({"alg": "HS256", "kid": "k1"}), &pro("ann")));
        forgeries.push(mint::with_secret(&secret, &json!({"alg": "HS256"}), &pro("ann")));
    }
    let mut admitted = 0;
    for forgery in &forgeries {
        admitted += u64::from(server.post("/v1/check", &described(forgery)).status == 200);
        admitted += u64::from(forwarded(&server, forgery).status == 200);
    }
    assert!(2 * forgeries.len() as u64 > FREE);
    assert_eq!(admitted, FREE, "all of them are one client without a name");
    for (result, least) in [
        ("bad_signature", 2),
        ("expired", 1),
        ("no_expiry", 1),
        ("not_yet_valid", 1),
        ("unsigned", 2),
        ("malformed", 1),
        ("too_long", 1),
        ("algorithm_refused", 8),
    ] {
        assert!(count(&server, result) >= least, "{result}");
    }
    assert_eq!(count(&server, "verified"), 2);
}

#[test]
fn a_token_names_the_user_unless_the_caller_does() {
    let scratch = Scratch::new();
    let keys = "{algorithm: HS256, secret_env: SECRET_OF_TESTS}";
    let policy = scratch.write("policy.yaml", &strict(&tiers(keys)));
    let secret = "a secret of thirty-two bytes ...";
    let server = Server::with(&["--policy", &policy], |command| command.env("SECRET_OF_TESTS", secret));
    let free = |user: &str| {
        let claims = json!({"sub": user, "exp": mint::LATER_S});
        mint::with_secret(secret.as_bytes(), &json!({"alg": "HS256"}), &claims)
    };
    let left = |body: &str| server.post("/v1/check", body).json()["remaining"].as_u64().unwrap();
    assert_eq!((left(&described(&free("ann"))), left(&described(&free("ann")))), (FREE - 1, FREE - 2));
    assert_eq!(left(&described(&free("bob"))), FREE - 1, "another user, another bucket");
    let with_user = |user: &str| {
        let headers = json!({"authorization": format!("Bearer {}", free("ann"))});
        json!({"ip": "192.0.2.7", "user": user, "headers": headers}).to_string()
    };
    assert_eq!(left(&with_user("cyd")), FREE - 1, "whom the caller knows goes before the token");
    assert_eq!(left(r#"{"ip": "192.0.2.7"}"#), FREE - 1);
    assert_eq!((standing(&server), count(&server, "absent")), (json!("ready"), 1));
}

#[test]
fn claims_that_somebody_upstream_verified_count_for_rules_that_trust_him() {
    let policy = "rules: [\
        {name: trusting, limit_keys: [\"jwt:sub\"], jwt_trust: upstream_verified, rate: 1/h, burst: 5}, \
        {name: doubting, limit_keys: [\"jwt:sub\"], rate: 1/h, burst: 50}]";
    let (server, _scratch) = Server::with_policy(policy);
    let left = |user| {
        let token = mint::with_secret(b"whatever", &json!({"alg": "HS256"}), &json!({"sub": user}));
        server.post("/v1/check", &described(&token)).json()["remaining"].as_u64().unwrap()
    };
    assert_eq!((left("ann"), left("ann"), left("bob")), (4, 3, 4));
    assert_eq!(count(&server, "unverified"), 3);
    assert_eq!(standing(&server), Value::Null, "there are no keys to wait for");
}

#[test]
fn keys_in_files_are_read_again_when_they_change_and_a_bad_file_keeps_the_last_ones() {
    let (old, new) = (Signer::ed("old"), Signer::ed("new"));
    let scratch = Scratch::new();
    let file = scratch.write("keys.json", &jwks(&[&old]));
    let policy = scratch.write("policy.yaml", &tiers(&format!("{{jwks_file: \"{file}\"}}")));
    let mut server = Server::new(&["--policy", &policy]);
    let (by_old, by_new) = (old.token(&pro("ann")), new.token(&pro("ann")));
    assert_eq!((tier(&server, &by_old), tier(&server, &by_new)), (PRO, FREE));

    scratch.write("keys.new", &jwks(&[&new]));
    std::fs::rename(scratch.path("keys.new"), &file).unwrap();
    server.wait_for("other keys for tokens are in force");
    assert_eq!((tier(&server, &by_old), tier(&server, &by_new)), (FREE, PRO));

    scratch.write("keys.json", "{}");
    server.wait_for("the policy is refused, and the one before stays in force");
    server.wait_for("`jwt.keys[0]`, file");
    assert_eq!(tier(&server, &by_new), PRO);
    assert_eq!(server.http().get("/readyz").json()["policy"]["outdated"], true);

    scratch.write("keys.json", &jwks(&[&old, &new]));
    server.wait_for("other keys for tokens are in force");
    assert_eq!((tier(&server, &by_old), tier(&server, &by_new)), (PRO, PRO));
    assert_eq!(server.http().get("/readyz").json()["policy"]["outdated"], false);
}

#[test]
fn a_policy_whose_key_is_missing_comes_into_force_when_the_key_comes() {
    let signer = Signer::ed("k1");
    let (mut server, scratch) = Server::with_policy("{name: all, scope: global, rate: 1/h, burst: 7}");
    std::fs::create_dir(scratch.path("secrets")).unwrap();
    let file = scratch.path("secrets/keys.json");
    scratch.write("policy.yaml", &tiers(&format!("{{jwks_file: \"{file}\"}}")));
    server.wait_for("the policy is refused, and the one before stays in force");
    server.wait_for("the file cannot be read");
    assert_eq!(server.post("/v1/peek", "{}").json()["limit"], 7);
    scratch.write("secrets/keys.json", &jwks(&[&signer]));
    server.wait_for("another policy is in force");
    assert_eq!(tier(&server, &signer.token(&pro("ann"))), PRO);
}

#[test]
fn key_sets_are_fetched_and_given_up_as_policies_come_and_go() {
    let signer = Signer::ed("k1");
    let keys = KeyServer::new(&jwks(&[&signer]));
    let token = signer.token(&pro("ann"));
    let without = "{name: all, scope: global, rate: 1/h, burst: 7}";
    let (mut server, scratch) = Server::with_policy(without);
    scratch.write("policy.yaml", &at(&keys.url("/jwks")));
    server.wait_for("the key set is at hand");
    assert_eq!(tier(&server, &token), PRO);
    scratch.write("policy.yaml", &at(&keys.url("/jwks")).replace("name: free", "name: others"));
    server.wait_for("another policy is in force");
    assert_eq!((tier(&server, &token), keys.asked()), (PRO, 1), "it was there already");
    scratch.write("policy.yaml", without);
    server.wait_for("another policy is in force");
    assert_eq!((standing(&server), tier(&server, &token)), (Value::Null, 7));
}

#[test]
fn a_server_with_a_bad_key_does_not_start_and_says_which_and_what_to_do() {
    let scratch = Scratch::new();
    for (keys, said) in [
        (
            "{algorithm: HS256, secret_env: SECRET_OF_TESTS}",
            "`jwt.keys[0]`, variable `SECRET_OF_TESTS`: the environment variable is not set or empty; set it to the secret",
        ),
        (
            "{jwks_file: no/such/keys.json}",
            "`jwt.keys[0]`, file `no/such/keys.json`: the file cannot be read (",
        ),
        (
            "{jwks_url: \"http://a:99999/jwks\"}",
            "`jwt.keys[0]`, `http://a:99999/jwks`: it is no address of a key set (",
        ),
        ("{jwks_url: \"http://me:secret@a/jwks\"}", "`jwks_url` holds a user or a password"),
    ] {
        let policy = scratch.write("policy.yaml", &tiers(keys));
        let (code, complaint) = complaint(tollgate(&["serve", "--policy", &policy, "--http", "127.0.0.1:0"]));
        assert_eq!(code, Some(1), "{keys}: {complaint}");
        assert!(complaint.contains("policy.yaml") && complaint.contains(said), "{keys}: {complaint}");
    }
}

#[test]
fn answers_that_are_no_key_set_are_said_and_change_nothing() {
    let signer = Signer::ed("k1");
    let keys = KeyServer::new(&jwks(&[&signer]));
    let long = "x".repeat((1 << 20) + 1);
    let answers = [
        (
            "/moved",
            "HTTP/1.1 302 Found\r\nLocation: /jwks\r\nContent-Length: 0\r\n\r\n",
            "302 Found, which is not followed",
        ),
        ("/broken", "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n", "the answer is 500"),
        ("/page", &ok("<html>"), "it is no JSON Web Key Set"),
        ("/empty", &ok("{\"keys\": []}"), "none of the key set's 0 keys can verify"),
        ("/long", &ok(&long), "the answer is longer than 1048576 bytes"),
        ("/cut", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", "the answer breaks off"),
        ("/noise", "\0\0\0\0\0\0\0\0\r\n\r\n", "the answer is no HTTP"),
    ];
    let mut sources = vec![format!("{{jwks_url: \"{}\"}}", keys.url("/jwks"))];
    for (path, answer, _) in &answers {
        keys.say(path, answer);
        sources.push(format!("{{jwks_url: \"{}\"}}", keys.url(path)));
    }
    let (server, _scratch) = Server::with_policy(&tiers(&sources.join(", ")));
    assert_eq!(tier(&server, &signer.token(&pro("ann"))), PRO);
    assert_eq!(standing(&server), "waiting for keys");
    for (path, _, why) in &answers {
        let is_said = |line: &String| line.contains(path) && line.contains(why);
        assert!(server.said.iter().any(is_said), "{path}: {why} in {:#?}", server.said);
    }
}

#[test]
fn a_silent_server_of_keys_holds_nobody_up_for_long() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/jwks", silent.local_addr().unwrap());
    let (mut server, _scratch) = Server::with_policy(&at(&url));
    assert_eq!(tier(&server, &Signer::ed("k1").token(&pro("ann"))), FREE);
    server.wait_for("no answer within 5 s");
}

#[test]
fn key_sets_come_over_tls_from_whom_the_machine_trusts_and_from_nobody_else() {
    let signer = Signer::ed("k1");
    let keys = KeyServer::over_tls(&jwks(&[&signer]));
    let scratch = Scratch::new();
    let policy = scratch.write("policy.yaml", &at(&keys.url("/jwks")));
    let authority = scratch.write("authority.pem", &mint::pem("CERTIFICATE", CERTIFICATE));
    let trusts = |file: &str| {
        Server::with(&["--policy", &policy], |command| {
            command.env_remove("SSL_CERT_DIR").env("SSL_CERT_FILE", file)
        })
    };
    let trusting = trusts(&authority);
    assert_eq!(tier(&trusting, &signer.token(&pro("ann"))), PRO);

    let other = scratch.write("other.pem", OTHER_AUTHORITY);
    let doubting = trusts(&other);
    assert_eq!(tier(&doubting, &signer.token(&pro("ann"))), FREE);
    let is_said = |line: &String| line.contains("no trusted connection");
    assert!(doubting.said.iter().any(is_said), "{:#?}", doubting.said);

    let nobody = scratch.write("nobody.pem", "");
    let lost = trusts(&nobody);
    assert!(lost.said.iter().any(|line| line.contains("install `ca-certificates`")), "{:#?}", lost.said);
}
