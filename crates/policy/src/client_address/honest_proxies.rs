//! Test: behind honest proxies a client is itself, whatever it sends.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tollgate_sim::seeds::{Rng, for_each_seed};

use super::*;

/// Lines of one field. Those that are not text cannot be read as text.
struct Lines {
    name: &'static str,
    sent: Vec<Line>,
    /// Whether they can be read as bytes, or are left out.
    gives_bytes: bool,
}

#[derive(Clone)]
struct Line {
    text: String,
    is_text: bool,
}

impl Headers for Lines {
    fn get(&self, name: &str) -> Option<&str> {
        match self.sent.as_slice() {
            [only] if name == self.name && only.is_text => Some(&only.text),
            _ => None,
        }
    }

    fn each_name(&self, visit: &mut dyn FnMut(&str)) {
        self.sent.iter().for_each(|_| visit(self.name));
        visit("user-agent");
    }

    fn each_value(&self, name: &str, visit: &mut dyn FnMut(&str)) {
        let readable = self.sent.iter().filter(|line| line.is_text && name == self.name);
        readable.for_each(|line| visit(&line.text));
    }

    fn each_line(&self, name: &str, visit: &mut dyn FnMut(&[u8])) {
        let given = self.sent.iter().filter(|line| (line.is_text || self.gives_bytes) && name == self.name);
        given.for_each(|line| visit(&line.bytes()));
    }
}

impl Line {
    /// Letters beyond ASCII stand for bytes that are no text.
    fn bytes(&self) -> Vec<u8> {
        self.text.chars().map(|letter| u8::try_from(u32::from(letter)).unwrap_or(0xff)).collect()
    }
}

#[test]
fn a_client_behind_honest_proxies_is_itself_whatever_it_sends() {
    let mut not_text = 0;
    for_each_seed(0..20_000, |rng| {
        let header = if rng.bool() { ForwardingHeader::XForwardedFor } else { ForwardingHeader::Forwarded };
        let client = client(rng);
        let proxies: Vec<IpAddr> = (0..rng.usize(1..=4)).map(|_| proxy(rng)).collect();
        let mut headers = Lines { name: name_of(&header), sent: forged(rng), gives_bytes: rng.bool() };
        let is_text = headers.sent.iter().all(|line| line.is_text);
        not_text += u32::from(!is_text);
        let mut peer = client;
        for proxy in &proxies {
            pass_on(rng, &header, peer, &mut headers.sent);
            peer = *proxy;
        }
        let networks = vec!["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()];
        let hops = u8::try_from(proxies.len()).unwrap();
        let trust = if rng.bool() { Trust::Networks(networks) } else { Trust::Hops(hops) };
        let found = client_address(&ClientAddressSettings { trust, header }, Some(peer), &headers);
        let sent: Vec<_> = headers.sent.iter().map(|line| &line.text).collect();
        if is_text || headers.gives_bytes {
            assert_eq!((found.address, found.ending), (Some(client), Ending::Client), "{sent:?}");
        } else {
            assert_eq!((found.address, found.ending), (Some(peer), Ending::Unreadable), "{sent:?}");
        }
    });
    assert!(not_text > 1_000 || std::env::var_os(tollgate_sim::seeds::SEED_VARIABLE).is_some());
}

#[test]
fn what_a_stranger_sends_is_never_its_address() {
    for_each_seed(0..2_000, |rng| {
        let client = client(rng);
        let headers = Lines { name: "forwarded", sent: forged(rng), gives_bytes: rng.bool() };
        for trust in [Trust::Nobody, Trust::Networks(vec!["10.0.0.0/8".parse().unwrap()])] {
            let settings = ClientAddressSettings { trust, header: ForwardingHeader::Forwarded };
            assert_eq!(client_address(&settings, Some(client), &headers).address, Some(client));
        }
    });
}

fn name_of(header: &ForwardingHeader) -> &'static str {
    match header {
        ForwardingHeader::Forwarded => "forwarded",
        _ => "x-forwarded-for",
    }
}

fn client(rng: &mut Rng) -> IpAddr {
    if rng.bool() {
        Ipv4Addr::new(192, 0, 2, rng.u8(..)).into()
    } else {
        Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, rng.u16(..), rng.u16(..)).into()
    }
}

fn proxy(rng: &mut Rng) -> IpAddr {
    if rng.bool() {
        Ipv4Addr::new(10, 0, 0, rng.u8(..)).into()
    } else {
        Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, rng.u16(..)).into()
    }
}

/// What a client may send: true pieces and broken ones, in any order.
fn forged(rng: &mut Rng) -> Vec<Line> {
    let pieces = [
        "6.6.6.6",
        "10.0.0.9",
        "fd00::9",
        "for=6.6.6.6",
        "for=\"[fd00::9]\"",
        "for=",
        "\"",
        "\\",
        "\\\"",
        ",",
        ", ",
        ";",
        "=",
        " ",
        "\t",
        "unknown",
        "_x",
        "ü",
        "%eth0",
        "::ffff:",
        "[",
        "]",
        ":80",
        "host=\"",
        "\u{0}",
    ];
    let lines = rng.usize(0..=3);
    let mut line = || {
        let text = (0..rng.usize(0..=12)).map(|_| pieces[rng.usize(..pieces.len())]).collect();
        Line { text, is_text: rng.u8(..) > 20 }
    };
    (0..lines).map(|_| line()).collect()
}

/// What an honest proxy does: it adds its peer at the right end, in one of the ways that proxies have.
fn pass_on(rng: &mut Rng, header: &ForwardingHeader, peer: IpAddr, lines: &mut Vec<Line>) {
    let port = rng.u16(..);
    let mut entry = match (peer, rng.bool()) {
        (IpAddr::V4(v4), true) => format!("{v4}:{port}"),
        (IpAddr::V4(v4), false) => v4.to_string(),
        (IpAddr::V6(v6), true) => format!("[{v6}]:{port}"),
        (IpAddr::V6(v6), false) => format!("[{v6}]"),
    };
    if *header == ForwardingHeader::Forwarded {
        // The host is the client's word, escaped as it must be.
        let hosts =
            ["a", "a,for=6.6.6.6", "\", for=6.6.6.6;x=\"", "\\", "\\\", for=6.6.6.6", "a, for=6.6.6.6;x="];
        let host = hosts[rng.usize(..hosts.len())].replace('\\', "\\\\").replace('"', "\\\"");
        entry = format!("for=\"{entry}\";host=\"{host}\";proto=https");
    }
    let own = Line { text: entry.clone(), is_text: true };
    match (rng.u8(0..3), lines.last_mut()) {
        (0, Some(last)) => last.text = format!("{}, {entry}", last.text),
        (1, Some(_)) => {
            let is_text = lines.iter().all(|line| line.is_text);
            let texts: Vec<_> = lines.iter().map(|line| line.text.as_str()).collect();
            *lines = vec![Line { text: format!("{},{entry}", texts.join(",")), is_text }];
        }
        _ => lines.push(own),
    }
}
