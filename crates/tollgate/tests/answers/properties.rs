//! What holds of every answer, whatever the limits, waits, balances, names and messages.

use std::time::Duration;

use fastrand::Rng;
use serde_json::Value;
use tollgate::policy::{AnswerSettings, BodyProfile, HeaderProfiles};
use tollgate::{
    Algorithm, Answering, BucketSet, Burst, Cause, Concurrency, FixedWindow, LeakyBucket, Limit, Outcome,
    Rate, Refusal, RefusalKind, SlidingCounter, SlidingLog, Span, Standing, Tokens, Violation, Window,
};

const CASES: u32 = 5_000;

/// As many bits as it likes: small and large numbers are equally likely.
fn any_size(random: &mut Rng) -> u64 {
    random.u64(..) >> random.u32(0..64)
}

fn any_algorithm(random: &mut Rng) -> Algorithm {
    loop {
        let rate = Rate::new(any_size(random), Span::from_nanos(any_size(random)));
        let (burst, span) = (Burst::micros(any_size(random)), Span::from_nanos(any_size(random)));
        let algorithm: Result<Algorithm, _> = match random.u8(0..6) {
            0 => Limit::new(rate, burst).map(Into::into),
            1 => LeakyBucket::new(rate, burst).map(Into::into),
            2 => {
                let window =
                    *random.choice(&[Window::MINUTE, Window::DAY, Window::MONTH, Window::YEAR]).unwrap();
                FixedWindow::new(burst, Window::every(span).unwrap_or(window)).map(Into::into)
            }
            3 => SlidingCounter::new(burst, span).map(Into::into),
            4 => SlidingLog::new(burst, span).map(Into::into),
            _ => Concurrency::new(random.u32(1..20_000), span).map(Into::into),
        };
        if let Ok(algorithm) = algorithm {
            return algorithm;
        }
    }
}

/// Anything that could break out of a header field or a JSON string, and more.
fn any_text(random: &mut Rng) -> String {
    let chars =
        ['a', 'Z', '9', ' ', '"', '\\', '\r', '\n', '\0', '\u{7f}', 'é', '漢', '\u{2028}', ';', ',', '%'];
    (0..random.usize(0..40)).map(|_| *random.choice(&chars).unwrap()).collect()
}

fn any_settings(random: &mut Rng) -> AnswerSettings {
    AnswerSettings {
        headers: HeaderProfiles { draft: random.bool(), legacy: random.bool(), x: random.bool() },
        body: if random.bool() { BodyProfile::Problem } else { BodyProfile::Simple },
        jitter_percent: random.u8(0..=100),
        ..AnswerSettings::default()
    }
}

/// The figure after `;name=` of an item whose string is taken off.
fn parameter(value: &str, name: &str) -> Option<u64> {
    let (_, parameters) = value.rsplit_once("\";")?;
    let mut parameters = parameters.split(';').filter_map(|parameter| parameter.split_once('='));
    parameters.find(|(found, _)| *found == name).map(|(_, value)| value.parse().unwrap())
}

/// All that must be so of the answer, whose exact wait is `wait`.
fn judge(answering: &Answering<'_>, settings: &AnswerSettings, wait: Option<Span>, now: Duration) {
    let answer = answering.render();
    let find =
        |name: &str| answer.headers.iter().find(|(field, _)| &**field == name).map(|(_, value)| &**value);
    for (name, value) in &answer.headers {
        assert!(value.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{name}: {value:?}");
        assert_eq!(value.trim(), &**value, "{name}");
        assert!(value.len() <= 4_096, "{name} has {} bytes", value.len());
    }
    let retry: Option<u64> = find("Retry-After").map(|value| value.parse().unwrap());
    assert_eq!(retry.is_some(), wait.is_some());
    if let (Some(seconds), Some(wait)) = (retry, wait) {
        assert!(seconds >= 1 && u128::from(seconds) * 1_000_000_000 >= u128::from(wait.as_nanos()));
    }
    if let (Some(policy), Some(limit)) = (find("RateLimit-Policy"), find("RateLimit")) {
        let (q, r) = (parameter(policy, "q").unwrap(), parameter(limit, "r").unwrap());
        assert!(answer.status != 200 || r <= q, "{policy} {limit}");
        assert!(parameter(policy, "w").is_none_or(|window| window >= 1), "{policy}");
        if answer.status == 429 {
            assert_eq!(parameter(limit, "t"), retry, "{limit}");
        }
        assert_eq!(find("RateLimit-Remaining").is_some(), settings.headers.legacy);
    }
    if let (Some(reset), Some(at)) = (find("RateLimit-Reset"), find("X-RateLimit-Reset")) {
        let (reset, at): (u64, u64) = (reset.parse().unwrap(), at.parse().unwrap());
        assert_eq!(at, now.as_secs() + u64::from(now.subsec_nanos() > 0) + reset);
    }
    assert_eq!(answer.body.is_some(), answer.status != 200);
    if let Some((_, body)) = &answer.body {
        let body: Value = serde_json::from_str(body).unwrap();
        let exact = body.get("retry_after_ms").map(|millis| millis.as_u64().unwrap());
        assert_eq!(exact, wait.map(|wait| wait.as_nanos().div_ceil(1_000_000)));
        if settings.body == BodyProfile::Problem {
            assert_eq!(body["status"], answer.status);
            assert_eq!(body["admitted"], false);
        }
    }
}

#[test]
fn every_answer_is_true_and_well_formed() {
    let mut random = Rng::with_seed(4);
    for _ in 0..CASES {
        let settings = any_settings(&mut random);
        let now = Duration::new(random.u64(0..10_000_000_000), random.u32(0..1_000_000_000));
        let texts = [(); 4].map(|()| any_text(&mut random));
        let client = random.u64(..).to_le_bytes();
        let algorithms: Vec<Algorithm> =
            (0..random.usize(0..4)).map(|_| any_algorithm(&mut random)).collect();
        let violated: Vec<Violation<'_>> = algorithms
            .iter()
            .enumerate()
            .map(|(index, algorithm)| {
                let remaining = Tokens::from_micros(any_size(&mut random));
                let standing = Standing::new(&texts[index % 2], "user", algorithm, remaining, now);
                assert!(standing.remaining() <= standing.quota());
                Violation {
                    reason: random.bool().then_some(&*texts[2]),
                    message: random.bool().then_some(&*texts[3]),
                    ..Violation::new(standing, Span::from_nanos(any_size(&mut random)))
                }
            })
            .collect();
        let wait = violated.iter().map(|violation| violation.wait).max().unwrap_or_default();
        let kinds = [
            RefusalKind::Blocked,
            RefusalKind::KeyMissing,
            RefusalKind::PathEncoded,
            RefusalKind::KillSwitch,
            RefusalKind::TooManyRules,
        ];
        let refusal = Refusal {
            kind: *random.choice(&kinds).unwrap(),
            by: &texts[0],
            reason: random.bool().then_some(&*texts[2]),
            message: random.bool().then_some(&*texts[3]),
            expires_in_s: random.bool().then(|| any_size(&mut random)),
        };
        let expiry = refusal.expires_in_s.map(Span::from_secs);
        let cause = if random.bool() { Cause::Exceeded } else { Cause::TableFull(BucketSet::FIRST) };
        let tightest = Standing::tightest(violated.iter().map(|violation| violation.standing));
        let outcomes = [
            (Outcome::Admitted { tightest }, None),
            (Outcome::Denied { wait, cause, violated: &violated }, Some(wait)),
            (Outcome::Never { violated: &violated }, None),
            (Outcome::Refused(refusal), expiry),
            (Outcome::Unavailable { wait }, Some(wait)),
        ];
        for (outcome, wait) in outcomes {
            let answering = Answering::new(&settings, outcome, &client, now);
            judge(&answering, &settings, wait, now);
            if let Some(grpc) = answering.grpc() {
                grpc.each_header(|_, value| assert!(value.bytes().all(|byte| matches!(byte, b' '..=b'~'))));
            }
        }
    }
}
