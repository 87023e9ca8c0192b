//! The request of a step, over that of its case.

use std::net::IpAddr;

use super::claims;
use crate::DescribedRequest;
use crate::text::fields::Fields;
use crate::text::found::Found;
use crate::text::tree::{Kind, Node};
use crate::text::{choice, decimal};

#[rustfmt::skip]
const FIELDS: [&str; 13] = [
    "method", "path", "host", "ip", "peer", "headers", "user", "plan", "claims", "unverified_claims", "route", "version", "bytes",
];
const TEXT_BYTES_MAX: usize = 64 * 1024;
const HEADERS_MAX: usize = 1_000;

/// The request that is described, on top of `shared`; headers are added to those there.
pub(super) fn read(node: &Node<'_>, shared: &DescribedRequest, found: &mut Found) -> DescribedRequest {
    let mut request = shared.clone();
    let cure = "write `{method: GET, path: /, ip: 192.0.2.7}`";
    let Some(mut fields) = Fields::of(node, "`request`", cure, found) else { return request };
    let mut text = |name: &str, found: &mut Found| {
        fields.take(name).and_then(|node| choice::text(node, name, TEXT_BYTES_MAX, found)).map(str::to_owned)
    };
    request.target = text("path", found).unwrap_or(request.target);
    request.host = text("host", found).unwrap_or(request.host);
    request.version = text("version", found).unwrap_or(request.version);
    request.user = text("user", found).or(request.user);
    request.plan = text("plan", found).or(request.plan);
    request.route = text("route", found).or(request.route);
    if let Some(node) = fields.take("method") {
        match DescribedRequest::method_named(node.scalar().unwrap_or_default()) {
            Ok(method) => request.method = method,
            Err(no_method) => found.unfit(node, "method", "a method", no_method.to_string()),
        }
    }
    // Who is said anew is whom the step means: what the case says of the other is not its client.
    if let (ip, peer @ Some(_)) | (ip @ Some(_), peer) = (fields.take("ip"), fields.take("peer")) {
        request.address = ip.and_then(|node| address(node, "ip", found));
        request.peer = peer.and_then(|node| address(node, "peer", found));
    }
    if let Some(node) = fields.take("bytes") {
        request.body_bytes = decimal::whole(node, "bytes", 0, u64::MAX, found);
    }
    for (name, is_verified) in [("claims", true), ("unverified_claims", false)] {
        if let Some(node) = fields.take(name) {
            request.claims = claims::read(node, name, found);
            request.claims_are_verified = is_verified;
        }
    }
    if let Some(node) = fields.take("headers") {
        headers(node, &mut request.headers, found);
    }
    fields.refuse_rest("`request`", &FIELDS, found);
    request
}

fn address(node: &Node<'_>, name: &str, found: &mut Found) -> Option<IpAddr> {
    let address = node.scalar().and_then(|text| text.parse().ok());
    if address.is_none() {
        let cure = format!("write an IPv4 or IPv6 address, as in `{name}: 192.0.2.7`");
        found.unfit(node, name, "an address", cure);
    }
    address
}

/// Names with a value, or a list of values for a field that occurs several times. They replace those of the same name.
fn headers(node: &Node<'_>, headers: &mut Vec<(String, String)>, found: &mut Found) {
    let Some(entries) = node.entries() else {
        found.unfit(node, "headers", "a mapping", "write names and values: `headers: {X-Api-Key: k}`");
        return;
    };
    if entries.len() > HEADERS_MAX {
        let what = format!("`headers` has {} entries, the most is {HEADERS_MAX}", entries.len());
        found.add(node.head(), what, "describe a smaller request");
        return;
    }
    for (key, value) in entries {
        headers.retain(|(name, _)| !name.eq_ignore_ascii_case(&key.text));
        let values = match &value.kind {
            Kind::List(values) => values.as_slice(),
            _ => std::slice::from_ref(value),
        };
        for value in values {
            match value.scalar() {
                Some(text) => headers.push((key.text.clone().into_owned(), text.to_owned())),
                None => found.unfit(
                    value,
                    &key.text,
                    "a text",
                    "write the value of the field, or a list of values",
                ),
            }
        }
    }
}
