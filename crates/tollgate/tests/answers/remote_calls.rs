//! What gRPC clients are told (H6), read back with somebody else's protobuf.

use prost::Message;
use tollgate::policy::AnswerSettings;
use tollgate::{Answering, Cause, GrpcAnswer, Outcome, Refusal, RefusalKind, Span};

use crate::told::{NOW, bucket, plain, violation};

#[derive(Clone, PartialEq, Message)]
struct Status {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

#[derive(Clone, PartialEq, Message)]
struct Any {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    retry_delay: Option<Duration>,
}

#[derive(Clone, PartialEq, Message)]
struct Duration {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

fn call(settings: &AnswerSettings, outcome: Outcome<'_>, client: &str) -> Option<GrpcAnswer> {
    Answering::new(settings, outcome, client.as_bytes(), NOW).grpc()
}

/// The status within, and its retry delay.
fn read(answer: &GrpcAnswer) -> (Status, Option<Duration>) {
    let status = Status::decode(&*answer.details).unwrap();
    assert_eq!((status.code, &status.message), (answer.code, &answer.message));
    let delay = status.details.first().map(|any| {
        assert_eq!(any.type_url, "type.googleapis.com/google.rpc.RetryInfo");
        RetryInfo::decode(&*any.value).unwrap().retry_delay.unwrap()
    });
    (status, delay)
}

#[test]
fn a_denial_is_resource_exhausted_with_the_wait() {
    let (violated, wait) = ([violation("user", bucket(10, 50), 0, 1_250)], Span::from_millis(1_250));
    let outcome = Outcome::Denied { wait, cause: Cause::Exceeded, violated: &violated };
    let answer = call(&plain(), outcome, "ann").unwrap();
    let (status, delay) = read(&answer);
    assert_eq!((status.code, status.details.len()), (8, 1));
    assert_eq!(status.message, "Rule `user` has 0 of 50 left. Retry in 1250 ms.");
    assert_eq!(delay, Some(Duration { seconds: 1, nanos: 250_000_000 }));
}

#[test]
fn clients_denied_together_are_told_different_waits_and_none_too_short() {
    let mut delays = std::collections::BTreeSet::new();
    for client in 0..100 {
        let (violated, wait) = ([violation("user", bucket(10, 50), 0, 100)], Span::from_millis(100));
        let outcome = Outcome::Denied { wait, cause: Cause::Exceeded, violated: &violated };
        let answer = call(&AnswerSettings::default(), outcome, &format!("user:{client}")).unwrap();
        let Duration { seconds, nanos } = read(&answer).1.unwrap();
        assert!(seconds == 0 && (100_000_000..=150_000_000).contains(&nanos), "{nanos} ns");
        delays.insert(nanos);
    }
    assert_eq!(delays.len(), 100);
}

#[test]
fn never_has_no_wait_and_other_refusals_have_their_own_codes() {
    let violated = [violation("user", bucket(10, 50), 0, 0)];
    let never = call(&plain(), Outcome::Never { violated: &violated }, "ann").unwrap();
    assert_eq!((read(&never).0.code, read(&never).1), (8, None));
    let out = call(&plain(), Outcome::Unavailable { wait: Span::from_secs(2) }, "ann").unwrap();
    assert_eq!((out.code, read(&out).1), (14, Some(Duration { seconds: 2, nanos: 0 })));
    let blocked =
        Refusal { kind: RefusalKind::Blocked, by: "b", reason: None, message: None, expires_in_s: None };
    assert_eq!(call(&plain(), Outcome::Refused(blocked), "ann").unwrap().code, 7);
    assert_eq!(call(&plain(), Outcome::Admitted { tightest: None }, "ann"), None);
}

#[test]
fn the_fields_are_encoded_as_grpc_asks() {
    let switch = Refusal {
        kind: RefusalKind::KillSwitch,
        by: "s",
        reason: None,
        message: Some("100 % müde\n"),
        expires_in_s: None,
    };
    let mut fields = Vec::new();
    let answer = call(&plain(), Outcome::Refused(switch), "ann").unwrap();
    answer.each_header(|name, value| fields.push((name, value.to_owned())));
    assert_eq!(fields[0], ("grpc-status", "14".to_owned()));
    assert_eq!(fields[1], ("grpc-message", "100 %25 m%C3%BCde%0A".to_owned()));
    assert_eq!(fields[2], ("grpc-status-details-bin", "CA4SDDEwMCAlIG3DvGRlCg".to_owned()));
}
