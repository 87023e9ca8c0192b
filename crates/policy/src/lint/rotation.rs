//! Keys that the client can change at will, each time for a fresh bucket.
//!
//! Headers, query fields, cookies, fingerprints, hosts and paths are the client's to choose, also as one part of a longer key:
//! of the key (address, user agent) one client has as many buckets as it has user agents. So is the whole of an IPv6
//! address, of which one client has 2^64. Three things make such a part good:
//! - its name is that of a credential (`x-api-key`, `authorization`): the service refuses those that it did not give out;
//! - the rule's `match` lists the values that it may have: a host, a route, networks that are no client's alone;
//! - another rule without such parts (per prefix, user, or one bucket for all) limits the same requests.

use ipnet::IpNet;

use super::terms::{Atom, Literal};
use super::{Book, Lint, LintKind, Subject};
use crate::key_source::CLIENT_BITS_V6;
use crate::{Action, HostPattern, KeySource, PathPattern, ValueTest};

/// `rotatable-key`.
pub(super) fn look(book: &Book<'_>, found: &mut Vec<Lint>) {
    let firm = book.company(|other| rotatable_part(other).is_none());
    for subject in book.rules() {
        let Some(part) = rotatable_part(subject) else { continue };
        if firm.limits(subject, &subject.terms) {
            continue;
        }
        let (message, cure) = if is_address(part) {
            let message =
                format!("`{part}` gives an IPv6 client 2^64 buckets, one for each of its addresses");
            (message, "write `ip:prefix`: the address of IPv4, the /64 of IPv6".to_owned())
        } else {
            let message = format!("a client that changes `{part}` gets a fresh bucket each time");
            (message, cure_of(part))
        };
        found.push(subject.lint(LintKind::RotatableKey, message, cure));
    }
}

fn cure_of(part: &KeySource) -> String {
    let listed = match part {
        KeySource::Host => "name the hosts in `match`, or ",
        KeySource::Path => "name the route in `match`, or ",
        _ => "",
    };
    format!(
        "{listed}add a rule with `limit_keys: [ip:prefix]` for the same requests, or use `user` or a `jwt:` claim"
    )
}

/// The part of the key that a client can change at will; the address last, since it takes IPv6 to change that.
fn rotatable_part<'s>(subject: &'s Subject<'_>) -> Option<&'s KeySource> {
    let is_limit = matches!(subject.rule.action, Action::Limit(_)) && subject.terms.is_judged();
    let mut rotatable =
        subject.rule.keys.iter().filter(|part| is_limit && is_free(part) && !is_listed(subject, part));
    let first = rotatable.next()?;
    if is_address(first) { rotatable.find(|part| !is_address(part)).or(Some(first)) } else { Some(first) }
}

fn is_free(part: &KeySource) -> bool {
    match part {
        KeySource::Header(name) | KeySource::Query(name) => !is_credential(name),
        KeySource::Prefix { v6, .. } => *v6 > CLIENT_BITS_V6,
        // Whoever drops a session's cookie is given another. Where no route's template is known, the path itself counts.
        KeySource::Cookie(_)
        | KeySource::Fingerprint
        | KeySource::Host
        | KeySource::Path
        | KeySource::Address => true,
        KeySource::Claim(_)
        | KeySource::Method
        | KeySource::User
        | KeySource::Plan
        | KeySource::Constant(_) => false,
    }
}

fn is_address(part: &KeySource) -> bool {
    matches!(part, KeySource::Address | KeySource::Prefix { .. })
}

/// Whether the name is one of those that carry credentials.
pub(super) fn is_credential(name: &str) -> bool {
    let letters: String =
        name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let is_forgery_token = letters.contains("csrf") || letters.contains("xsrf");
    let parts = ["apikey", "accesskey", "subscriptionkey", "token", "authorization", "secret"];
    letters == "key" || !is_forgery_token && parts.iter().any(|part| letters.contains(part))
}

/// Whether the condition lists the values that the part may have.
fn is_listed(subject: &Subject<'_>, part: &KeySource) -> bool {
    let lists = |literal: &Literal<'_>| !literal.is_negated && lists(&literal.atom, part);
    subject.terms.each().iter().all(|term| term.literals().iter().any(lists))
}

fn lists(atom: &Atom<'_>, part: &KeySource) -> bool {
    match (atom, part) {
        (Atom::OneOf(source, _), part) => *source == part || is_address(source) && is_address(part),
        (Atom::Host(HostPattern::Exact(_)), KeySource::Host) => true,
        (Atom::Path(test), KeySource::Path) => {
            matches!(test.pattern, PathPattern::Exact(_) | PathPattern::Template(_))
        }
        (Atom::Value(KeySource::Address, ValueTest::Within(networks)), part) if is_address(part) => {
            networks.iter().all(|network| match network {
                IpNet::V4(_) => true,
                IpNet::V6(network) => network.prefix_len() > CLIENT_BITS_V6,
            })
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built_by_hand::host;
    use crate::lint::built_by_hand::{
        any, found, found_in, grouped, header, one_of, path, policy, present, rule, within,
    };
    use crate::{Condition, Mode, Rule};

    const ROTATABLE: LintKind = LintKind::RotatableKey;

    fn keyed(keys: impl Into<Vec<KeySource>>) -> Rule {
        Rule { keys: keys.into(), ..rule("x") }
    }

    #[test]
    fn what_the_client_chooses_is_no_key_alone_nor_beside_an_address() {
        let free = [
            header("user-agent"),
            header("x-csrf-token"),
            KeySource::Query("q".into()),
            KeySource::Cookie("sid".into()),
            KeySource::Fingerprint,
        ];
        for part in free {
            assert_eq!(found([keyed([part.clone()])]), [(ROTATABLE, "x".into())], "{part}");
            assert_eq!(
                found([keyed([KeySource::ONE_CLIENT, part.clone()])]),
                [(ROTATABLE, "x".into())],
                "{part}"
            );
        }
        assert_eq!(
            policy([keyed([header("user-agent")])]).lints()[0].to_string(),
            "line 1: rule `x`: a client that changes `header:user-agent` gets a fresh bucket each time; add a rule with \
             `limit_keys: [ip:prefix]` for the same requests, or use `user` or a `jwt:` claim [rotatable-key]"
        );
    }

    #[test]
    fn credentials_and_who_the_client_is_are_keys() {
        for name in ["x-api-key", "api_key", "authorization", "x-auth-token", "ocp-apim-subscription-key"] {
            assert_eq!(found([keyed([header(name)])]), [], "{name}");
        }
        assert_eq!(found([keyed([KeySource::Query("key".into())])]), []);
        for part in [
            KeySource::ONE_CLIENT,
            KeySource::Prefix { v4: 24, v6: 48 },
            KeySource::User,
            KeySource::Plan,
            KeySource::Method,
        ] {
            assert_eq!(found([keyed([part])]), []);
        }
        assert_eq!(found([keyed([])]), []);
    }

    #[test]
    fn whole_ipv6_addresses_are_the_clients_to_choose() {
        for part in [KeySource::Address, KeySource::Prefix { v4: 32, v6: 65 }] {
            assert_eq!(found([keyed([part.clone()])]), [(ROTATABLE, "x".into())], "{part}");
            assert_eq!(found([keyed([part]), rule("firm")]), []);
        }
        assert_eq!(
            policy([keyed([KeySource::Address])]).lints()[0].to_string(),
            "line 1: rule `x`: `ip:address` gives an IPv6 client 2^64 buckets, one for each of its addresses; write \
             `ip:prefix`: the address of IPv4, the /64 of IPv6 [rotatable-key]"
        );
    }

    #[test]
    fn addresses_that_are_listed_or_of_ipv4_alone_are_keys() {
        let inside = |networks: &[&str]| Rule { condition: within(networks), ..keyed([KeySource::Address]) };
        assert_eq!(found([inside(&["10.0.0.0/8", "2001:db8::7/128"])]), []);
        assert_eq!(found([inside(&["10.0.0.0/8", "2001:db8::/32"])]), [(ROTATABLE, "x".into())]);
        let listed = one_of(KeySource::Address, &["2001:db8::7"]);
        assert_eq!(found([Rule { condition: listed, ..keyed([KeySource::Address]) }]), []);
    }

    #[test]
    fn a_host_is_a_key_only_where_the_hosts_are_named() {
        let by_host = |condition| Rule { condition, ..keyed([KeySource::ONE_CLIENT, KeySource::Host]) };
        for condition in [Condition::Always, host("*.example.com"), any([host("a.example.com"), path("/a")])]
        {
            assert_eq!(found([by_host(condition)]), [(ROTATABLE, "x".into())]);
        }
        assert_eq!(found([by_host(any([host("a.example.com"), host("b.example.com")]))]), []);
        assert_eq!(found([by_host(Condition::Always), rule("firm")]), []);
        let beside_address = keyed([KeySource::Address, KeySource::Host]);
        assert!(
            policy([beside_address]).lints()[0].message.contains("`host`"),
            "what is easier to change is told"
        );
    }

    #[test]
    fn a_path_is_a_key_only_where_the_route_is_named() {
        let by_path = |condition| Rule { condition, ..keyed([KeySource::User, KeySource::Path]) };
        for condition in [Condition::Always, path("/*"), path("/api/*"), path("/files/*.png")] {
            assert_eq!(found([by_path(condition)]), [(ROTATABLE, "x".into())]);
        }
        for condition in [path("/search"), path("/users/{id}"), any([path("/a"), path("/b")])] {
            assert_eq!(found([by_path(condition)]), []);
        }
        assert_eq!(
            policy([by_path(Condition::Always)]).lints()[0].cure,
            "name the route in `match`, or add a rule with `limit_keys: [ip:prefix]` for the same requests, or use `user` \
             or a `jwt:` claim"
        );
    }

    #[test]
    fn a_listed_value_is_not_free() {
        let listed = Rule { condition: one_of(header("x-tier"), &["a", "b"]), ..keyed([header("x-tier")]) };
        assert_eq!(found([listed]), []);
        let other = Rule { condition: one_of(header("x-other"), &["a"]), ..keyed([header("x-tier")]) };
        assert_eq!(found([other]), [(ROTATABLE, "x".into())]);
        let present = Rule { condition: present(header("x-tier")), ..keyed([header("x-tier")]) };
        assert_eq!(found([present]), [(ROTATABLE, "x".into())]);
    }

    #[test]
    fn a_firm_rule_for_the_same_requests_makes_up_for_it() {
        let weak = || Rule { condition: path("/a/b"), ..keyed([header("x-device")]) };
        let firm = || Rule { condition: path("/a/*"), ..rule("firm") };
        assert_eq!(found([weak(), firm()]), []);
        assert_eq!(found([weak(), Rule { keys: Vec::new(), ..firm() }]), []);
        for too_little in [
            Rule { condition: path("/b"), ..firm() },
            Rule { action: Action::Allow, condition: path("/b"), ..firm() },
            Rule { mode: Mode::Off, ..firm() },
        ] {
            assert_eq!(found([weak(), too_little]), [(ROTATABLE, "x".into())]);
        }
        let watching = Rule { mode: Mode::Shadow, ..firm() };
        assert!(found([weak(), watching]).contains(&(ROTATABLE, "x".into())));
        let two_weak = [weak(), Rule { keys: vec![header("user-agent")], ..firm() }];
        assert_eq!(found(two_weak).len(), 2);
    }

    #[test]
    fn a_group_of_firm_rules_makes_up_for_it_and_its_own_group_does_not() {
        let tier = |name: &str, condition| Rule { condition, ..rule(name) };
        let rules = || {
            [
                keyed([header("x-device")]),
                tier("pro", one_of(KeySource::Plan, &["pro"])),
                tier("rest", Condition::Always),
            ]
        };
        assert_eq!(found_in(&grouped(policy(rules()), &[1, 2], false)), []);
        let own = grouped(policy([tier("pro", path("/a")), keyed([header("x-device")])]), &[0, 1], false);
        assert_eq!(found_in(&own), [(ROTATABLE, "x".into())]);
    }
}
