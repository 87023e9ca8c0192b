//! Reads where a part of a key comes from: `ip:address`, `header:x-api-key`, `jwt:org.id`.

use crate::KeySource;

use super::did_you_mean;
use super::found::Found;
use super::tree::{Place, cut};

/// How policies spell them, for suggestions.
pub(super) const SPELLINGS: [&str; 13] = [
    "ip:address",
    "ip:prefix",
    "header:<name>",
    "query:<name>",
    "cookie:<name>",
    "jwt:<claim>",
    "path",
    "method",
    "host",
    "user",
    "plan",
    "fingerprint",
    "constant:<text>",
];
/// What stands before a colon and a name.
const KINDS: [&str; 5] = ["header", "query", "cookie", "jwt", "constant"];
/// Longest name of a header, a claim, or a constant.
const NAME_BYTES_MAX: usize = 128;
/// Deepest claim: `jwt:a.b.c.d.e.f.g.h`.
const CLAIM_DEPTH_MAX: usize = 8;

/// What `text` names, or a mistake at `place`.
pub(super) fn read(text: &str, place: Place, found: &mut Found) -> Option<KeySource> {
    match parse(text) {
        Ok(source) => Some(source),
        Err(cure) => {
            found.add(place, format!("`{}` is nothing that a key can be made of", cut(text)), cure);
            None
        }
    }
}

/// Whether it looks as if it were meant to name one.
pub(super) fn looks_like_one(text: &str) -> bool {
    text.contains(':') || parse(text).is_ok()
}

fn parse(text: &str) -> Result<KeySource, String> {
    let plain = match text {
        "ip:address" => Some(KeySource::Address),
        "path" => Some(KeySource::Path),
        "method" => Some(KeySource::Method),
        "host" => Some(KeySource::Host),
        "user" => Some(KeySource::User),
        "plan" => Some(KeySource::Plan),
        "fingerprint" => Some(KeySource::Fingerprint),
        _ => None,
    };
    if let Some(source) = plain {
        return Ok(source);
    }
    if let Some(bits) = text.strip_prefix("ip:prefix") {
        return prefix(bits);
    }
    let Some((kind, name)) = text.split_once(':') else { return Err(cure_of(text)) };
    if !matches!(kind, "header" | "query" | "cookie" | "jwt" | "constant") {
        return Err(cure_of(text));
    }
    if name.is_empty() || name.len() > NAME_BYTES_MAX {
        return Err(format!(
            "write a name of 1 to {NAME_BYTES_MAX} bytes after the colon, as in `{kind}:name`"
        ));
    }
    match kind {
        "header" => header_name(name).map(KeySource::Header),
        "query" => Ok(KeySource::Query(name.into())),
        "cookie" => Ok(KeySource::Cookie(name.into())),
        "constant" => Ok(KeySource::Constant(name.into())),
        _ => claim(name),
    }
}

/// A header's name in lower case, or the cure.
pub(super) fn header_name(name: &str) -> Result<Box<str>, String> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.bytes().all(is_token) {
        return Err(
            "write the name of a header field: letters, digits and dashes, as in `x-api-key`".to_owned()
        );
    }
    Ok(name.to_ascii_lowercase().into())
}

fn claim(name: &str) -> Result<KeySource, String> {
    let path: Vec<Box<str>> = name.split('.').map(Into::into).collect();
    if path.len() > CLAIM_DEPTH_MAX || path.iter().any(|part| part.is_empty()) {
        return Err(format!(
            "write at most {CLAIM_DEPTH_MAX} names with single dots between them, as in `jwt:org.id`"
        ));
    }
    Ok(KeySource::Claim(path))
}

/// What follows `ip:prefix`: nothing, `/24` or `/24,48`.
fn prefix(bits: &str) -> Result<KeySource, String> {
    let cure = || {
        "write `ip:prefix`, `ip:prefix/24`, or `ip:prefix/24,48` for IPv4 (8 to 32 bits) and IPv6 (16 to 128)"
            .to_owned()
    };
    if bits.is_empty() {
        return Ok(KeySource::ONE_CLIENT);
    }
    let bits = bits.strip_prefix('/').ok_or_else(cure)?;
    let (v4, v6) = bits.split_once(',').unwrap_or((bits, "64"));
    let within = |text: &str, least: u8, most: u8| {
        text.parse()
            .ok()
            .filter(|bits| (least..=most).contains(bits) && text.bytes().all(|b| b.is_ascii_digit()))
    };
    match (within(v4, 8, 32), within(v6, 16, 128)) {
        (Some(v4), Some(v6)) => Ok(KeySource::Prefix { v4, v6 }),
        _ => Err(cure()),
    }
}

/// What was probably meant.
fn cure_of(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let kind = lower.split_once(':').map_or(lower.as_str(), |(kind, _)| kind);
    let name = text.split_once(':').map_or("<name>", |(_, name)| name);
    match kind {
        "ip"
        | "client_ip"
        | "remote_addr"
        | "remote_address"
        | "address"
        | "addr"
        | "client"
        | "$binary_remote_addr" => {
            "write `ip:prefix` for each client, `ip:prefix/24` for a whole network; in `match`, `ip:address`"
                .to_owned()
        }
        "claim" | "claims" | "token" => format!("write `jwt:{name}`"),
        "headers" | "req.header" | "request_header" => format!("write `header:{name}`"),
        "header" => "say which header, as in `header:x-api-key`".to_owned(),
        "cookies" => format!("write `cookie:{name}`"),
        "cookie" => "say which cookie, as in `cookie:session`".to_owned(),
        "param" | "query_param" | "arg" => format!("write `query:{name}`"),
        "query" => "say which parameter, as in `query:api_key`".to_owned(),
        "jwt" => "say which claim, as in `jwt:sub`".to_owned(),
        "user_id" | "userid" | "principal" | "username" => "write `user`".to_owned(),
        "api_key" | "apikey" | "api-key" | "x-api-key" => "write `header:x-api-key`".to_owned(),
        "route" | "url" | "uri" | "endpoint" => "write `path`".to_owned(),
        "global" | "all" | "*" => {
            "write `scope: global` and no `limit_keys`: one bucket is shared by all".to_owned()
        }
        "const" | "static" | "literal" => format!("write `constant:{name}`"),
        _ if text.contains(':') && did_you_mean::nearest(kind, KINDS).is_some() => {
            format!("did you mean `{}:{name}`?", did_you_mean::nearest(kind, KINDS).unwrap_or_default())
        }
        _ => match did_you_mean::nearest(text, SPELLINGS) {
            Some(word) => format!("did you mean `{word}`?"),
            None => format!("write one of {}", did_you_mean::listed(&SPELLINGS)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_reads_back_as_it_prints() {
        for text in [
            "ip:address",
            "ip:prefix",
            "ip:prefix/24,48",
            "header:x-api-key",
            "query:key",
            "cookie:session",
            "jwt:org.id",
            "path",
            "method",
            "host",
            "user",
            "plan",
            "fingerprint",
            "constant:all of it",
        ] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
        assert_eq!(parse("ip:prefix/24"), Ok(KeySource::Prefix { v4: 24, v6: 64 }));
        assert_eq!(parse("header:X-Api-Key"), parse("header:x-api-key"));
    }

    #[test]
    fn what_is_no_source_is_answered_with_one() {
        for text in [
            "ip",
            "header:",
            "header:a b",
            "jwt:",
            "jwt:a..b",
            "ip:prefix/7",
            "ip:prefix/24,8",
            "ip:prefix/+24",
            "ip:prefixes",
            "User",
            "",
            ":",
            "claim:sub",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(
            parse("remote_addr").unwrap_err(),
            "write `ip:prefix` for each client, `ip:prefix/24` for a whole network; in `match`, `ip:address`"
        );
    }
}
