//! Tests: what clients send to be somebody else, and what becomes of it.

use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// What the peer, 10.0.0.1, sends through proxies of 10.0.0.0/8.
#[track_caller]
fn check(header: ForwardingHeader, lines: &[&str], expected: &str, ending: Ending) {
    check_trusting(Trust::Networks(vec!["10.0.0.0/8".parse().unwrap()]), header, lines, expected, ending);
}

#[track_caller]
fn check_trusting(trust: Trust, header: ForwardingHeader, lines: &[&str], expected: &str, ending: Ending) {
    let fields = fields(header.field_name(), lines);
    let found = client_address(&ClientAddressSettings { trust, header }, Some(PEER), &fields);
    let address = found.address.map(|address| address.to_string()).unwrap_or_default();
    assert_eq!((address.as_str(), found.ending), (expected, ending), "{lines:?}");
    assert_eq!(found.ignored_forwarding_header, ending == Ending::Peer, "{lines:?}");
}

const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));

/// Names and values.
struct Fields(Vec<(String, String)>);

impl Headers for Fields {
    fn get(&self, name: &str) -> Option<&str> {
        let mut found = self.0.iter().filter(|(field, _)| field.eq_ignore_ascii_case(name));
        let only = found.next().map(|(_, value)| value.as_str());
        only.filter(|_| found.next().is_none())
    }

    fn each_name(&self, visit: &mut dyn FnMut(&str)) {
        for (field, _) in &self.0 {
            visit(field);
        }
    }

    fn each_value(&self, name: &str, visit: &mut dyn FnMut(&str)) {
        let values = self.0.iter().filter(|(field, _)| field.eq_ignore_ascii_case(name));
        values.for_each(|(_, value)| visit(value));
    }
}

fn fields(name: &str, lines: &[&str]) -> Fields {
    Fields(lines.iter().map(|line| (name.to_owned(), (*line).to_owned())).collect())
}

fn xff(lines: &[&str], expected: &str, ending: Ending) {
    check(ForwardingHeader::XForwardedFor, lines, expected, ending);
}

fn forwarded(lines: &[&str], expected: &str, ending: Ending) {
    check(ForwardingHeader::Forwarded, lines, expected, ending);
}

#[test]
fn the_client_is_the_right_most_entry_that_is_no_proxy_of_ours() {
    xff(&["192.0.2.9"], "192.0.2.9", Ending::Client);
    xff(&["6.6.6.6, 192.0.2.9, 10.0.0.3, 10.0.0.2"], "192.0.2.9", Ending::Client);
    forwarded(&["for=6.6.6.6, for=192.0.2.9;proto=https, For=\"10.0.0.3:80\""], "192.0.2.9", Ending::Client);
}

#[test]
fn a_trusted_proxy_in_the_middle_does_not_vouch_for_what_strangers_wrote() {
    xff(&["6.6.6.6, 10.0.0.4, 192.0.2.9, 10.0.0.2"], "192.0.2.9", Ending::Client);
}

#[test]
fn whoever_named_the_client_is_told_with_it() {
    let told_by = |trust: Trust, header: ForwardingHeader, line: &str| {
        let fields = fields(header.field_name(), &[line]);
        let found = client_address(&ClientAddressSettings { trust, header }, Some(PEER), &fields);
        found.told_by.map(|hop| hop.to_string()).unwrap_or_default()
    };
    let xff = |line| {
        let trust = Trust::Networks(vec!["10.0.0.0/8".parse().unwrap()]);
        told_by(trust, ForwardingHeader::XForwardedFor, line)
    };
    assert_eq!(xff("6.6.6.6, 192.0.2.9, 10.0.0.3, 10.0.0.2"), "10.0.0.3");
    assert_eq!(xff("192.0.2.9"), "10.0.0.1", "the peer");
    assert_eq!(xff("unknown, 10.0.0.3, 10.0.0.2"), "10.0.0.2", "who named the last hop that is known");
    assert_eq!(xff("unknown"), "", "nobody but the socket names the peer");
    let stranger = told_by(Trust::Nobody, ForwardingHeader::XForwardedFor, "192.0.2.9");
    assert_eq!(stranger, "");
    let single = ForwardingHeader::Single("cf-connecting-ip".into());
    assert_eq!(told_by(Trust::Hops(1), single, "192.0.2.9"), "10.0.0.1");
}

#[test]
fn garbage_ends_the_walk_at_the_last_trusted_hop() {
    for garbage in
        ["unknown", "_hidden", "", "-", "ü", "\u{202e}6.6.6.6", "6.6.6.6 10.0.0.3", "1.2.3.4.5", "\"", "NaN"]
    {
        xff(&[&format!("6.6.6.6, {garbage}")], "10.0.0.1", Ending::Unreadable);
        xff(&[&format!("6.6.6.6, {garbage}, 10.0.0.2")], "10.0.0.2", Ending::Unreadable);
        xff(&["6.6.6.6", garbage, "10.0.0.2"], "10.0.0.2", Ending::Unreadable);
        forwarded(&[&format!("for=6.6.6.6, for={garbage}, for=10.0.0.2")], "10.0.0.2", Ending::Unreadable);
        forwarded(&["for=6.6.6.6", garbage, "for=10.0.0.2"], "10.0.0.2", Ending::Unreadable);
    }
    xff(&["6.6.6.6,,10.0.0.2,"], "10.0.0.1", Ending::Unreadable);
    xff(&[","], "10.0.0.1", Ending::Unreadable);
}

#[test]
fn garbage_on_the_clients_side_of_its_own_address_changes_nothing() {
    for garbage in ["unknown", "", ",,,,", "\"", "\"\\", "for=\"", "\\\"\\", "6.6.6.6,", "ü\u{0}"] {
        xff(&[&format!("{garbage}, 192.0.2.9, 10.0.0.2")], "192.0.2.9", Ending::Client);
        forwarded(&[&format!("{garbage}, for=192.0.2.9, for=10.0.0.2")], "192.0.2.9", Ending::Client);
        forwarded(&[garbage, "for=192.0.2.9, for=10.0.0.2"], "192.0.2.9", Ending::Client);
    }
}

#[test]
fn several_lines_are_one_list_in_order() {
    xff(&["6.6.6.6", "192.0.2.9", "10.0.0.3, 10.0.0.2"], "192.0.2.9", Ending::Client);
    let mut lines = vec!["6.6.6.6"; 10_000];
    lines.extend(["192.0.2.9", "10.0.0.3", "10.0.0.2"]);
    xff(&lines, "192.0.2.9", Ending::Client);
}

#[test]
fn white_space_and_ports_make_no_difference() {
    xff(&["6.6.6.6,\t 192.0.2.9:4711 \t,10.0.0.2:80"], "192.0.2.9", Ending::Client);
    xff(&["[2001:db8::9]:4711, 10.0.0.2"], "2001:db8::9", Ending::Client);
    xff(&["6.6.6.6, 192.0.2.9\u{a0}"], "10.0.0.1", Ending::Unreadable);
}

#[test]
fn zones_and_mapped_addresses_are_the_plain_address() {
    for zone in ["fe80::9%eth0", "fe80::9%25eth1", "[fe80::9%0]:80", "fe80::9"] {
        xff(&[&format!("6.6.6.6, {zone}, 10.0.0.2")], "fe80::9", Ending::Client);
    }
    xff(&["6.6.6.6, ::ffff:192.0.2.9, ::ffff:10.0.0.2"], "192.0.2.9", Ending::Client);
    forwarded(&["for=\"[::ffff:192.0.2.9]:1\", for=\"[::ffff:a00:2]\""], "192.0.2.9", Ending::Client);
}

#[test]
fn a_mapped_peer_is_the_proxy_that_it_is_and_a_mapped_network_is_ipv4() {
    let headers = fields("x-forwarded-for", &["192.0.2.9"]);
    for (network, trusts) in [
        ("10.0.0.0/8", true),
        ("::ffff:10.0.0.0/104", true),
        ("::ffff:0:0/96", true),
        ("::/0", false),
        ("::/96", false),
    ] {
        let settings = ClientAddressSettings {
            trust: Trust::Networks(vec![network.parse().unwrap()]),
            header: ForwardingHeader::XForwardedFor,
        };
        let found = client_address(&settings, "::ffff:10.0.0.1".parse().ok(), &headers);
        assert_eq!(found.ending != Ending::Peer, trusts, "{network}");
        assert!(found.address.is_some_and(|address| address.is_ipv4()));
    }
}

#[test]
fn ten_thousand_entries_are_read_no_further_than_the_maximum() {
    let far = vec!["6.6.6.6"; 10_000].join(", ");
    xff(&[&format!("{far}, 192.0.2.9")], "192.0.2.9", Ending::Client);
    let near = (1..ENTRIES_MAX).map(|_| "10.1.1.1").collect::<Vec<_>>().join(",");
    xff(&[&format!("{far},10.2.2.2,{near}")], "10.2.2.2", Ending::TooLong);
    let lines = vec!["10.1.1.1"; 10_000];
    xff(&lines, "10.1.1.1", Ending::TooLong);
}

#[test]
fn the_field_is_gone_through_no_more_often_than_there_may_be_entries() {
    struct Counting(AtomicUsize);
    impl Headers for Counting {
        fn get(&self, _name: &str) -> Option<&str> {
            None
        }
        fn each_name(&self, visit: &mut dyn FnMut(&str)) {
            (0..10_000).for_each(|_| visit("x-forwarded-for"));
        }
        fn each_value(&self, _name: &str, visit: &mut dyn FnMut(&str)) {
            self.0.fetch_add(1, Ordering::Relaxed);
            (0..10_000).for_each(|_| visit("10.0.0.3"));
        }
    }
    let headers = Counting(AtomicUsize::new(0));
    let trust = Trust::Networks(vec!["10.0.0.0/8".parse().unwrap()]);
    let settings = ClientAddressSettings { trust, header: ForwardingHeader::XForwardedFor };
    assert_eq!(client_address(&settings, Some(PEER), &headers).ending, Ending::TooLong);
    assert_eq!(headers.0.into_inner(), 1 + ENTRIES_MAX, "once to count the lines, then once for each entry");
}

#[test]
fn an_entry_of_any_length_is_read_no_further_than_the_maximum() {
    for filler in ["x", "\"", "\\", " ", "ü", "\\\"", "=", ";"] {
        let long = filler.repeat(ENTRY_BYTES_MAX + 1);
        xff(&[&format!("6.6.6.6, {long}, 10.0.0.2")], "10.0.0.2", Ending::Unreadable);
        forwarded(&[&format!("for=6.6.6.6, {long}, for=10.0.0.2")], "10.0.0.2", Ending::Unreadable);
    }
}

#[test]
fn a_field_that_ends_among_our_proxies_names_the_farthest_of_them() {
    xff(&[], "10.0.0.1", Ending::Exhausted);
    xff(&["10.0.0.3, 10.0.0.2"], "10.0.0.3", Ending::Exhausted);
}

#[test]
fn quotes_that_a_proxy_copied_from_the_client_hide_nothing() {
    let host = r#"for=192.0.2.9;host="a, for=6.6.6.6;x=\", for=7.7.7.7, \\\"";proto=https, for=10.0.0.2"#;
    forwarded(&["for=\"", host], "192.0.2.9", Ending::Client);
}

#[test]
fn a_number_of_hops_trusts_so_many_whatever_their_addresses() {
    let line = ["7.7.7.7, 6.6.6.6, 192.0.2.9, 198.51.100.2, 198.51.100.1"];
    let hops = |hops, expected, ending| {
        check_trusting(Trust::Hops(hops), ForwardingHeader::XForwardedFor, &line, expected, ending);
    };
    hops(3, "192.0.2.9", Ending::Client);
    // Too few: a proxy of ours, never anybody of the client's choice.
    hops(1, "198.51.100.1", Ending::Client);
    hops(2, "198.51.100.2", Ending::Client);
    // None at all is nobody.
    hops(0, "10.0.0.1", Ending::Peer);
}

#[test]
fn more_hops_than_entries_end_at_the_farthest_that_is_known_and_say_so() {
    let few = |lines: &[&str], expected, ending| {
        check_trusting(Trust::Hops(200), ForwardingHeader::XForwardedFor, lines, expected, ending);
    };
    few(&["192.0.2.9"], "192.0.2.9", Ending::Exhausted);
    few(&[], "10.0.0.1", Ending::Exhausted);
    few(&["6.6.6.6, garbage, 192.0.2.9"], "192.0.2.9", Ending::Unreadable);
    few(&vec!["6.6.6.6"; 10_000], "6.6.6.6", Ending::TooLong);
}

#[test]
fn a_peer_without_an_address_can_be_trusted_only_by_hops() {
    let headers = fields("x-forwarded-for", &["192.0.2.9"]);
    let found = |trust| {
        let settings = ClientAddressSettings { trust, header: ForwardingHeader::XForwardedFor };
        client_address(&settings, None, &headers).address
    };
    assert_eq!(found(Trust::Hops(1)), "192.0.2.9".parse().ok());
    assert_eq!(found(Trust::Networks(vec!["::/0".parse().unwrap(), "0.0.0.0/0".parse().unwrap()])), None);
}

#[test]
fn a_single_value_counts_only_if_it_is_single() {
    let single = |lines: &[&str], expected, ending| {
        check(ForwardingHeader::Single("cf-connecting-ip".into()), lines, expected, ending);
    };
    single(&["192.0.2.9"], "192.0.2.9", Ending::Client);
    single(&[" 2001:db8::9 "], "2001:db8::9", Ending::Client);
    single(&[], "10.0.0.1", Ending::Exhausted);
    single(&["6.6.6.6", "192.0.2.9"], "10.0.0.1", Ending::Unreadable);
    single(&["6.6.6.6, 192.0.2.9"], "10.0.0.1", Ending::Unreadable);
    single(&["192.0.2.9", ""], "10.0.0.1", Ending::Unreadable);
    single(&["x"], "10.0.0.1", Ending::Unreadable);
    single(&[&" ".repeat(ENTRY_BYTES_MAX + 1)], "10.0.0.1", Ending::Unreadable);
}

#[test]
fn the_word_of_a_stranger_is_ignored_and_reported() {
    let stranger: IpAddr = "203.0.113.5".parse().unwrap();
    let settings = |trust| ClientAddressSettings { trust, header: ForwardingHeader::XForwardedFor };
    for trust in [Trust::Nobody, Trust::Networks(vec!["10.0.0.0/8".parse().unwrap()])] {
        let forged = fields("X-Forwarded-For", &["6.6.6.6"]);
        let found = client_address(&settings(trust.clone()), Some(stranger), &forged);
        assert_eq!((found.address, found.ignored_forwarding_header), (Some(stranger), true));
        let other = fields("forwarded", &["for=6.6.6.6"]);
        let found = client_address(&settings(trust), Some(stranger), &other);
        assert_eq!((found.address, found.ignored_forwarding_header), (Some(stranger), false));
    }
}

#[test]
fn bytes_that_are_no_text_neither_hide_the_client_nor_are_skipped() {
    struct Raw(&'static [&'static [u8]]);
    impl Headers for Raw {
        fn get(&self, _name: &str) -> Option<&str> {
            None
        }
        fn each_name(&self, visit: &mut dyn FnMut(&str)) {
            self.0.iter().for_each(|_| visit("X-Forwarded-For"));
        }
        fn each_value(&self, _name: &str, visit: &mut dyn FnMut(&str)) {
            self.0.iter().filter_map(|line| std::str::from_utf8(line).ok()).for_each(visit);
        }
        fn each_line(&self, _name: &str, visit: &mut dyn FnMut(&[u8])) {
            self.0.iter().for_each(|line| visit(line));
        }
    }
    let settings = ClientAddressSettings {
        trust: Trust::Networks(vec!["10.0.0.0/8".parse().unwrap()]),
        header: ForwardingHeader::XForwardedFor,
    };
    let found = |lines| client_address(&settings, Some(PEER), &Raw(lines)).address.unwrap().to_string();
    assert_eq!(found(&[b"6.6.6.6", b"\xff, 192.0.2.9, 10.0.0.2"]), "192.0.2.9");
    assert_eq!(found(&[b"6.6.6.6", b"\xff", b"192.0.2.9"]), "192.0.2.9");
    assert_eq!(found(&[b"6.6.6.6", b"\xff, 10.0.0.2"]), "10.0.0.2");
    assert_eq!(found(&[b"6.6.6.6", b"192.0.2.9\xff"]), "10.0.0.1");
}

#[test]
fn only_the_configured_field_is_read() {
    let headers = [("forwarded", "for=6.6.6.6"), ("x-real-ip", "6.6.6.6"), ("x-forwarded-for", "192.0.2.9")];
    let headers = Fields(headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    let settings = ClientAddressSettings { trust: Trust::Hops(1), header: ForwardingHeader::XForwardedFor };
    assert_eq!(client_address(&settings, Some(PEER), &headers).address, "192.0.2.9".parse().ok());
}
