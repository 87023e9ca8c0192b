use std::collections::{HashMap, HashSet};

use serde_json::json;

use super::*;
use crate::built_by_hand::{claim, header, header_fields, rule};
use crate::request::RequestRoom;
use crate::{Claims, Facts, KeySource};

const ANONYMOUS_KEY: [u8; 1] = [ANONYMOUS];

fn key(keys: &[KeySource], facts: &Facts<'_>) -> Vec<u8> {
    let rule = Rule { keys: keys.to_vec(), ..rule("r") };
    let mut room = RequestRoom::default();
    let bytes = Key::new().build(&rule, &Request::new(facts, &mut room)).to_vec();
    assert!((1..=KEY_BYTES_MAX).contains(&bytes.len()));
    bytes
}

fn from(address: &str) -> Facts<'static> {
    Facts { address: Some(address.parse().unwrap()), ..Facts::new("GET", "/") }
}

#[test]
fn user_42_and_address_42_never_share_a_bucket() {
    let user = Facts { user: Some("0.0.0.42"), ..from("10.0.0.1") };
    let keys = [
        key(&[KeySource::User], &user),
        key(&[KeySource::User], &from("0.0.0.42")),
        key(&[KeySource::Address], &from("0.0.0.42")),
        key(&[KeySource::Constant("0.0.0.42".into())], &user),
        // The bytes of the address as a name.
        key(&[KeySource::User], &Facts { user: Some("\0\0\0*"), ..user }),
        key(&[KeySource::User], &from("::2a")),
    ];
    assert_eq!(keys.iter().collect::<HashSet<_>>().len(), keys.len());
}

#[test]
fn a_claims_type_is_part_of_the_key() {
    let (text, number, boolean) = (json!({"c": "42"}), json!({"c": 42}), json!({"c": true}));
    let text_true = json!({"c": "true"});
    let of =
        |claims| key(&[claim("c")], &Facts { claims: Claims::Verified(claims), ..Facts::new("GET", "/") });
    assert_eq!(
        [of(&text), of(&number), of(&boolean), of(&text_true)].iter().collect::<HashSet<_>>().len(),
        4
    );
}

#[test]
fn ipv4_in_ipv6_is_ipv4() {
    for source in [KeySource::Address, KeySource::User, KeySource::Prefix { v4: 24, v6: 64 }] {
        assert_eq!(
            key(std::slice::from_ref(&source), &from("::ffff:10.1.2.3")),
            key(&[source], &from("10.1.2.3"))
        );
    }
}

#[test]
fn a_prefix_is_one_bucket_and_its_neighbour_another() {
    let prefix = [KeySource::Prefix { v4: 24, v6: 64 }];
    assert_eq!(key(&prefix, &from("10.1.2.3")), key(&prefix, &from("10.1.2.250")));
    assert_ne!(key(&prefix, &from("10.1.2.3")), key(&prefix, &from("10.1.3.3")));
    assert_eq!(key(&prefix, &from("2001:db8::1")), key(&prefix, &from("2001:db8::ffff:1")));
    assert_ne!(key(&prefix, &from("2001:db8::1")), key(&prefix, &from("2001:db8:0:1::1")));
    assert_ne!(
        key(&[KeySource::Prefix { v4: 24, v6: 64 }], &from("10.1.0.0")),
        key(&[KeySource::Prefix { v4: 16, v6: 64 }], &from("10.1.0.0"))
    );
}

#[test]
fn whoever_is_no_user_is_one_client_for_each_64_bits_of_ipv6() {
    let user = [KeySource::User];
    assert_eq!(key(&user, &from("2001:db8::1")), key(&user, &from("2001:db8::ffff:1")));
    assert_ne!(key(&user, &from("2001:db8::1")), key(&user, &from("2001:db8:0:1::1")));
    assert_ne!(key(&user, &from("10.1.2.3")), key(&user, &from("10.1.2.4")), "an IPv4 address is one client");
    assert_ne!(key(&user, &from("2001:db8::1")), key(&[KeySource::ONE_CLIENT], &from("2001:db8::1")));
}

#[test]
fn invented_methods_share_a_bucket() {
    let of = |method| key(&[KeySource::Method], &Facts::new(method, "/"));
    assert_eq!(of("AAAA"), of("AAAB"));
    assert_ne!(of("AAAA"), of("GET"));
    assert_ne!(of("POST"), of("GET"));
}

#[test]
fn whoever_lacks_a_part_is_anonymous_and_nobody_can_be_that_on_purpose() {
    let sources = [header("x-key"), KeySource::Address];
    assert_eq!(key(&sources, &from("10.0.0.1")), ANONYMOUS_KEY);
    for value in ["", "anonymous", "0", "a\0a"] {
        let headers = header_fields(&[("x-key", value)]);
        let facts = Facts { headers: &headers, ..from("10.0.0.1") };
        assert_eq!(key(&sources, &facts) == ANONYMOUS_KEY, value.is_empty(), "{value:?}");
    }
    assert_ne!(key(&[], &from("10.0.0.1")), ANONYMOUS_KEY);
}

/// Values that would collide if parts were put end to end, or with a separator.
#[test]
fn no_two_lists_of_parts_make_one_key() {
    let pieces = ["a", "b", "ab", ":", "a:b", "\u{1}", "\u{3}\0\u{1}a", "\0", "aa", "\u{83}", "x"];
    let sources = [header("a"), KeySource::Query("q".into()), KeySource::User];
    let mut random = fastrand::Rng::with_seed(3);
    let mut seen: HashMap<Vec<u8>, [String; 3]> = HashMap::new();
    for _ in 0..5_000 {
        let parts: [String; 3] = std::array::from_fn(|_| {
            let piece = pieces[random.usize(..pieces.len())];
            piece.repeat([1, 2, 3, 170, 171, 400][random.usize(..6)])
        });
        let target: String =
            parts[1].bytes().fold("/?q=".to_owned(), |text, byte| format!("{text}%{byte:02x}"));
        // A header with a control character at its end would be ambiguous.
        let headers = header_fields(&[("a", &format!("x{}x", parts[0]))]);
        let facts = Facts { headers: &headers, user: Some(&parts[2]), ..Facts::new("GET", &target) };
        let earlier = seen.entry(key(&sources, &facts)).or_insert_with(|| parts.clone());
        assert_eq!(*earlier, parts);
    }
    assert!(seen.len() > 2_000);
}

#[test]
fn long_values_keep_their_own_buckets() {
    let long = "k".repeat(4_000);
    let of = |value: &str, parts: usize| {
        let headers = header_fields(&[("a", value)]);
        key(&vec![header("a"); parts], &Facts { headers: &headers, ..Facts::new("GET", "/") })
    };
    for parts in [1, 2, 5, 13, 14, 15, 100] {
        let (one, other) = (of(&format!("{long}1"), parts), of(&format!("{long}2"), parts));
        assert_ne!(one, other, "{parts} parts");
        // The hash of a long value is no way into its bucket.
        let hash = Sha256::digest(format!("{long}1"));
        assert_ne!(of(&String::from_utf8_lossy(&hash), parts), one);
    }
    assert_ne!(of("short", 15), of("other", 15));
    assert_eq!(of(&"k".repeat(4_097), 1), [0], "what is too long is ambiguous, and has the anonymous key");
}

#[test]
fn the_bytes_of_a_key_outlive_the_program_and_never_change() {
    assert_eq!(key(&[], &Facts::new("GET", "/")), [1]);
    let long = "u".repeat(509);
    let hashed = [&[1, PartKind::User as u8 | IS_HASHED, 0, 32][..], &Sha256::digest(&long)].concat();
    assert_eq!(key(&[KeySource::User], &Facts { user: Some(&long), ..Facts::new("GET", "/") }), hashed);
    assert_eq!(key(&[KeySource::Address], &from("10.1.2.3")), [1, 1, 0, 4, 10, 1, 2, 3]);
    assert_eq!(
        key(&[KeySource::Method, KeySource::Path], &Facts::new("GET", "/A")),
        *b"\x01\x0b\0\x03GET\x0a\0\x02/a"
    );
}

#[test]
fn a_user_alone_is_keyed_as_the_first_of_several_parts_and_hashed_where_it_is_long() {
    for len in [1, 11, 24, 507, 508, 509, 600] {
        let name = "u".repeat(len);
        let alone = key(&[KeySource::User], &Facts { user: Some(&name), ..from("10.0.0.1") });
        let head = if len <= 508 {
            let [high, low] = u16::try_from(len).unwrap().to_be_bytes();
            [&[OF_PARTS, PartKind::User as u8, high, low], name.as_bytes()].concat()
        } else {
            [&[OF_PARTS, PartKind::User as u8 | IS_HASHED, 0, 32], &*Sha256::digest(&name)].concat()
        };
        assert_eq!(alone, head, "{len} bytes");
    }
    let nobody = Facts { user: Some(""), ..from("10.0.0.1") };
    assert_eq!(key(&[KeySource::User], &nobody), key(&[KeySource::User], &from("10.0.0.1")));
}
