//! What every recipe promises while Tollgate answers. The policy is docs/proxies/policy.yaml: three at once for each client, one
//! more every twenty seconds; one `POST /upload`; one `GET /report/…` of reports.example for everybody.

use serde_json::Value;

use crate::application::BROKEN;
use crate::recipe::Recipe;
use crate::stack::Stack;

const POLICY: &str = r#""client";q=3;w=60"#;

pub(crate) fn admission(recipe: &Recipe) {
    let stack = Stack::start(recipe);
    for (left, full_in) in [(2, 20), (1, 40)] {
        let answer = stack.get(2, "/hello?a=1&b=%20");
        assert_eq!(answer.status, 200, "{answer:#?}");
        assert!(answer.body.starts_with("GET /hello?a=1&b=%20 HTTP/1."), "{answer:#?}");
        let (policy, limit) = (answer.field("ratelimit-policy"), answer.field("ratelimit"));
        if recipe.tells_the_admitted {
            assert_eq!(policy, Some(POLICY), "{answer:#?}");
            // A slow machine refills a little between two requests.
            let so_far = format!(r#""client";r={left};t="#);
            let seconds = limit.and_then(|limit| limit.strip_prefix(&so_far)?.parse::<u64>().ok());
            assert!(
                seconds.is_some_and(|seconds| full_in - 20 < seconds && seconds <= full_in),
                "{answer:#?}"
            );
        } else {
            assert_eq!((policy, limit), (None, None), "the page says that it cannot");
        }
    }
    let head = stack.ask(2, "HEAD", "/hello").send();
    assert_eq!((head.status, head.body.as_str()), (200, ""));
}

pub(crate) fn denial(recipe: &Recipe) {
    let stack = Stack::start(recipe);
    assert_eq!([(); 3].map(|()| stack.get(2, "/").status), [200; 3]);
    let asked = stack.application.asked();
    let denied = stack.get(2, "/");
    assert_eq!(denied.status, 429, "{denied:#?}");
    assert_eq!(stack.application.asked(), asked, "the application was asked");

    let seconds: u64 = denied.field("retry-after").unwrap().parse().unwrap();
    assert!((1..=30).contains(&seconds), "at most the wait and half of it: {denied:#?}");
    assert_eq!(denied.field("ratelimit-policy"), Some(POLICY));
    assert_eq!(denied.field("ratelimit"), Some(format!(r#""client";r=0;t={seconds}"#).as_str()));
    assert_eq!(denied.field("cache-control"), Some("no-store"));
    assert_eq!(denied.field("tollgate-reason"), Some("token_bucket_exceeded"));
    assert_eq!(denied.field("content-type"), Some("application/problem+json"));
    assert_eq!((denied.field("tollgate-status"), denied.field("tollgate-body")), (None, None));

    let body: Value = serde_json::from_str(&denied.body).unwrap();
    assert_eq!((&body["status"], &body["violated-policies"][0]), (&429.into(), &"client".into()));
    let millis = body["retry_after_ms"].as_u64().unwrap();
    assert!((1..=20_000).contains(&millis) && millis <= seconds * 1_000, "{millis} ms, {seconds} s");
    assert_eq!(stack.get(3, "/").status, 200, "another client");
}

pub(crate) fn addresses(recipe: &Recipe) {
    let stack = Stack::start(recipe);
    let forged = |client: u8, claim: &str| {
        let ask = stack.ask(client, "GET", "/").field("X-Forwarded-For", claim).field("X-Real-IP", claim);
        ask.field("Forwarded", &format!("for={claim}")).field("CF-Connecting-IP", claim).send().status
    };
    let claims = ["198.51.100.1", "127.0.0.3", "127.0.0.3, 127.0.0.1", "127.0.0.1"];
    for client in [2, 1] {
        let statuses = claims.map(|claim| forged(client, claim));
        assert_eq!(statuses, [200, 200, 200, 429], "four addresses, one client: 127.0.0.{client}");
    }
    assert_eq!([(); 4].map(|()| stack.get(3, "/").status), [200, 200, 200, 429], "nobody spent for it");
}

pub(crate) fn method_and_path(recipe: &Recipe) {
    let stack = Stack::start(recipe);
    // Each client uploads once; then the rule denies every spelling, whatever the client says that it asks for.
    let spellings = [
        "/upload",
        "/upload?a=1",
        "/upload/",
        "//upload",
        "/x/../upload",
        "/%75pload",
        "http://shop.example/upload",
    ];
    for (client, spelling) in (10..).zip(spellings) {
        assert_eq!(stack.ask(client, "POST", "/upload").send().status, 200);
        let forged = stack.ask(client, "POST", spelling).field("X-Forwarded-Method", "GET");
        let forged = forged.field("X-Forwarded-Uri", "/free").field("X-Original-Method", "GET");
        let forged = forged.field("X-Original-URI", "/free").field("X-Original-URL", "/free");
        let forged = forged.field("Host", "shop.example").send();
        assert_eq!(forged.denied_by(), (429, "uploads".to_owned()), "{spelling}: {forged:#?}");
        assert_eq!(stack.get(client, "/upload").status, 200, "another method");
        assert_eq!(stack.ask(client, "POST", "/uploads").send().status, 200, "another path");
    }
}

pub(crate) fn host(recipe: &Recipe) {
    let stack = Stack::start(recipe);
    let report = |client: u8, host: &str, claim: &str| {
        let ask = stack.ask(client, "GET", "/report/today").field("Host", host);
        ask.field("X-Forwarded-Host", claim).field("X-Original-Host", claim).send()
    };
    assert_eq!(report(2, "reports.example", "reports.example").status, 200);
    for (client, host) in (3..).zip(["reports.example", "Reports.Example:8000"]) {
        assert_eq!(report(client, host, "shop.example").denied_by(), (429, "reports".to_owned()), "{host}");
    }
    assert_eq!(report(5, "shop.example", "reports.example").status, 200, "another host");
}

pub(crate) fn refusals(recipe: &Recipe) {
    let stack = Stack::start(recipe);
    let asked = stack.application.asked();
    let blocked = stack.ask(2, "GET", "/").field("X-Api-Key", "leaked").send();
    assert_eq!((blocked.status, blocked.field("tollgate-reason")), (403, Some("blocked")), "{blocked:#?}");
    let closed = stack.get(3, "/export/all");
    assert_eq!((closed.status, closed.field("tollgate-reason")), (503, Some("kill_switch")), "{closed:#?}");
    for refusal in [blocked, closed] {
        assert_eq!(refusal.field("content-type"), Some("application/problem+json"));
        let body: Value = serde_json::from_str(&refusal.body).unwrap();
        assert_eq!(body["status"], refusal.status);
    }
    assert_eq!(stack.application.asked(), asked, "the application was asked");
}

pub(crate) fn body(recipe: &Recipe) {
    const LENGTH: usize = 300_000;
    let stack = Stack::start(recipe);
    let file = stack.folder.0.join("body.bin");
    std::fs::write(&file, vec![7; LENGTH]).unwrap();
    let answer = stack.ask(2, "PUT", "/file").body(&file).field("Expect", "100-continue").send();
    assert_eq!(answer.status, 200, "{answer:#?}");
    let expected = format!("body of {LENGTH} bytes, sum {}\n", LENGTH * 7);
    assert!(answer.body.starts_with("PUT /file ") && answer.body.ends_with(&expected), "{answer:#?}");
}

pub(crate) fn failing_application(recipe: &Recipe) {
    let stack = Stack::start(recipe);
    let asked = stack.application.asked();
    let answer = stack.ask(2, "POST", BROKEN).send();
    assert_eq!((answer.status, stack.application.asked() - asked), (502, 1), "{answer:#?}");
}
