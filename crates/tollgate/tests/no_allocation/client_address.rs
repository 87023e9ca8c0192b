//! Finding the client behind proxies allocates nothing, whatever was sent.

use tollgate_policy::{ClientAddressSettings, ForwardingHeader, Headers, Trust, client_address};

use super::allocates_nothing;

struct Lines<'a>(&'a [String]);

impl Headers for Lines<'_> {
    fn get(&self, _name: &str) -> Option<&str> {
        None
    }

    fn each_name(&self, visit: &mut dyn FnMut(&str)) {
        self.0.iter().for_each(|_| visit("forwarded"));
    }

    fn each_value(&self, _name: &str, visit: &mut dyn FnMut(&str)) {
        self.0.iter().for_each(|line| visit(line));
    }
}

#[test]
fn finding_the_client_allocates_nothing() {
    let settings = ClientAddressSettings {
        trust: Trust::Networks(vec!["10.0.0.0/8".parse().unwrap()]),
        header: ForwardingHeader::Forwarded,
    };
    let trusted = "for=\"10.0.0.3:80\";proto=https".to_owned();
    let sent = [
        vec![],
        vec!["for=192.0.2.9".to_owned(), trusted.clone()],
        vec![vec![trusted.as_str(); 10_000].join(", ")],
        vec![trusted.clone(); 10_000],
        vec!["for=unknown".to_owned(), trusted],
        vec!["\\\"".repeat(10_000)],
    ];
    for peer in ["10.0.0.1", "192.0.2.1"] {
        let peer = peer.parse().ok();
        for lines in &sent {
            allocates_nothing(|| client_address(&settings, peer, &Lines(lines)));
        }
    }
}
