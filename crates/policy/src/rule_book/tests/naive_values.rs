//! The values of a request by plain strings and lists, for the naive walk.

use serde_json::Value;

use crate::{Claims, Facts, KeySource, MethodSet, normal_path};

/// What a request has for a source.
pub(super) enum Values {
    /// Nothing, or one empty value.
    None {
        /// The name occurs all the same.
        is_named: bool,
    },
    /// Exactly one value.
    One(Vec<u8>),
    /// One value that is a key, with all its readings.
    Encoded(Vec<Raw>),
    /// An unknown value.
    Unreadable,
    /// Values that may be read in different ways.
    Ambiguous(Vec<Raw>),
}

/// One of several values.
pub(super) struct Raw {
    pub(super) bytes: Vec<u8>,
    /// It is text, and every `%` in it was followed by two digits.
    pub(super) is_readable: bool,
}

impl From<Vec<u8>> for Raw {
    fn from(bytes: Vec<u8>) -> Raw {
        let is_readable = std::str::from_utf8(&bytes).is_ok() && bytes.len() <= LONGEST;
        Raw { bytes, is_readable }
    }
}

const LONGEST: usize = 4_096;

/// The values of a source.
pub(super) fn of(source: &KeySource, facts: &Facts<'_>, trusts_upstream: bool) -> Values {
    match source {
        KeySource::Header(name) => of_header(facts, name),
        KeySource::Cookie(name) => of_cookies(&lines(facts, "cookie").join(&b';'), name),
        KeySource::Query(name) => of_query(facts.target, name),
        KeySource::Claim(path) => {
            let claims = match facts.claims {
                Claims::Verified(claims) => claims,
                Claims::Unverified(claims) if trusts_upstream => claims,
                _ if has_unclear_token(facts) => return Values::Unreadable,
                _ => return Values::None { is_named: false },
            };
            match &claims[&*path[0]] {
                Value::Array(list) => {
                    let texts = list.iter().filter_map(Value::as_str);
                    Values::Ambiguous(texts.map(|text| text.as_bytes().to_vec().into()).collect())
                }
                Value::String(text) => of_all(vec![text.as_bytes().to_vec().into()]),
                _ => Values::None { is_named: false },
            }
        }
        KeySource::Address => of_text(facts.address.map(|address| address.to_string())),
        KeySource::Prefix { .. } => {
            let network = |text: String| format!("{}.0/24", &text[..text.rfind('.').unwrap()]);
            of_text(facts.address.map(|address| network(address.to_string())))
        }
        KeySource::Path => match facts.route {
            Some(route) => of_text(Some(route.to_owned())),
            None if is_odd(facts.target)
                && (facts.target.contains("..") || after_host(path_of(facts.target)).is_some())
                && targets(facts.target).len() > 1 =>
            {
                let paths =
                    targets(facts.target).into_iter().map(|target| normal_path(&target, false, false));
                Values::Ambiguous(paths.map(|path| path.replace('~', "..").into_bytes().into()).collect())
            }
            None => of_text(Some(normal_path(&decoded_target(facts.target), false, false))),
        },
        KeySource::Method => {
            let upper = facts.method.to_ascii_uppercase();
            let is_known = MethodSet::of(&upper).names().next().is_some();
            of_text(Some(if is_known { upper } else { facts.method.to_owned() }))
        }
        KeySource::Host => {
            let host = if facts.target.starts_with("http://h.x/") { "h.x" } else { facts.host };
            of_text(Some(host.split(':').next().unwrap().to_lowercase()))
        }
        KeySource::User => {
            let user = facts.user.filter(|user| !user.is_empty()).map(str::to_owned);
            if user.is_none() && has_unclear_token(facts) {
                return Values::Unreadable;
            }
            of_text(user.or_else(|| facts.address.map(|address| address.to_string())))
        }
        KeySource::Plan if facts.plan.is_none() && has_unclear_token(facts) => Values::Unreadable,
        KeySource::Plan => of_text(facts.plan.map(str::to_owned)),
        KeySource::Constant(text) => of_text(Some(text.to_string())),
        KeySource::Fingerprint => unreachable!("these tests have none"),
    }
}

fn of_text(text: Option<String>) -> Values {
    match text {
        Some(text) if !text.is_empty() => Values::One(text.into_bytes()),
        _ => Values::None { is_named: false },
    }
}

/// One value that can be read is a value, more are ambiguous.
fn of_all(values: Vec<Raw>) -> Values {
    match &values[..] {
        [] => Values::None { is_named: false },
        [only] if !only.is_readable => Values::Ambiguous(values),
        [only] if only.bytes.is_empty() => Values::None { is_named: true },
        [only] => Values::One(only.bytes.clone()),
        _ => Values::Ambiguous(values),
    }
}

/// Whether there are no claims because the token is sent twice or cannot be read.
fn has_unclear_token(facts: &Facts<'_>) -> bool {
    let lines = lines(facts, "authorization");
    let is_unclear = lines.len() > 1 || lines.iter().any(|line| std::str::from_utf8(line).is_err());
    is_unclear && matches!(facts.claims, Claims::None)
}

/// The lines of a header field, trimmed.
fn lines(facts: &Facts<'_>, name: &str) -> Vec<Vec<u8>> {
    let mut lines = Vec::new();
    facts.headers.each_line(name, &mut |line| lines.push(line.trim_ascii().to_vec()));
    lines
}

/// Fields that differ by `_` and `-` are one, and white space around a value may be stripped or not.
fn of_header(facts: &Facts<'_>, name: &str) -> Values {
    let mut names = Vec::new();
    facts.headers.each_name(&mut |other| names.push(other.to_lowercase()));
    names.retain(|other| other.replace('_', "-") == name.replace('_', "-"));
    names.sort();
    names.dedup();
    let sent: Vec<Vec<u8>> = names.iter().flat_map(|name| lines(facts, name)).collect();
    let stripped = sent.iter().map(|line| stripped(line).to_vec()).filter(|line| !sent.contains(line));
    let values: Vec<Raw> = sent.iter().cloned().chain(stripped).map(Raw::from).collect();
    let is_clear = names.iter().all(|other| other == name) && values.len() == sent.len();
    if is_clear { of_all(values) } else { Values::Ambiguous(values) }
}

/// The white space of these tests, beside that of ASCII.
const WIDE_SPACES: [&[u8]; 2] = [b"\xc2\xa0", b"\xa0"];

fn stripped(mut bytes: &[u8]) -> &[u8] {
    for _ in 0..bytes.len() {
        for space in WIDE_SPACES {
            bytes = bytes.strip_prefix(space).unwrap_or(bytes);
            bytes = bytes.strip_suffix(space).unwrap_or(bytes);
        }
        bytes = bytes.trim_ascii();
    }
    bytes
}

/// White space of every kind as a space.
fn spaced(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let [first, after @ ..] = rest {
        let space = WIDE_SPACES.iter().find(|space| rest.starts_with(space));
        out.push(if space.is_some() { b' ' } else { *first });
        rest = space.map_or(after, |space| &rest[space.len()..]);
    }
    out
}

/// A name as the server reads it that reads the most names as one.
fn folded_name(name: &[u8]) -> Vec<u8> {
    let end = name.iter().position(|byte| b"\0[".contains(byte)).unwrap_or(name.len());
    stripped(&name[..end]).to_ascii_lowercase()
}

fn of_cookies(line: &[u8], name: &str) -> Values {
    let split = |text: &[u8]| {
        let at = text.iter().position(|byte| *byte == b'=')?;
        Some((text[..at].to_vec(), text[at + 1..].trim_ascii().to_vec()))
    };
    let named = |text: &[u8]| {
        let (own, value) = split(text)?;
        (folded_name(&own) == name.as_bytes()).then_some(value)
    };
    let (mut values, mut is_clear) = (Vec::new(), true);
    for piece in line.split(|byte| *byte == b';').map(<[u8]>::trim_ascii) {
        let spaced = spaced(piece);
        let words: Vec<&[u8]> = spaced.split(|byte| b" ,".contains(byte)).collect();
        is_clear &= named(piece).is_none() || words.len() == 1;
        is_clear &= named(piece).is_none() || split(piece).is_some_and(|(own, _)| own == name.as_bytes());
        is_clear &= words[1..].iter().all(|word| named(word).is_none());
        values.extend(named(piece));
        values.extend(words[usize::from(words.len() == 1)..].iter().filter_map(|word| named(word)));
    }
    let is_decodable = |value: &Vec<u8>| {
        let text = std::str::from_utf8(value).map(|text| decoded(&without_octals(unquoted(text))));
        text.is_ok_and(|(bytes, is_sound)| is_sound && std::str::from_utf8(&bytes).is_ok())
    };
    is_clear &= values.iter().all(is_decodable);
    let readings: Vec<Vec<u8>> = values.iter().flat_map(|value| cookie_readings(value)).collect();
    let is_encoded = readings.len() > values.len();
    let readings: Vec<Raw> = readings.into_iter().map(Raw::from).collect();
    match &values[..] {
        _ if !is_clear => Values::Ambiguous(readings),
        [_] if is_encoded => Values::Encoded(readings),
        _ => of_all(readings),
    }
}

/// A cookie as it was sent, without quotation marks, without octal escapes, and percent-decoded.
fn cookie_readings(value: &[u8]) -> Vec<Vec<u8>> {
    let mut readings = vec![value.to_vec()];
    let Ok(text) = std::str::from_utf8(value) else { return readings };
    let (bare, octal) = (unquoted(text), without_octals(unquoted(text)));
    readings.extend([bare, &octal].map(|text| text.as_bytes().to_vec()));
    readings.push(decoded(&octal).0);
    readings.dedup();
    readings
}

fn unquoted(text: &str) -> &str {
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text)
}

fn without_octals(text: &str) -> String {
    (0..=255_u8).fold(text.to_owned(), |text, byte| {
        text.replace(&format!("\\{byte:03o}"), &char::from(byte).to_string())
    })
}

fn of_query(target: &str, name: &str) -> Values {
    let Some((before, query)) = target.split_once('?') else { return Values::None { is_named: false } };
    // As all separators divide it.
    let (mut values, mut is_clear) = (Vec::new(), true);
    let mut start = 0;
    let bytes = query.as_bytes();
    for end in 0..=bytes.len() {
        if end < bytes.len() && !b"&;#".contains(&bytes[end]) {
            continue;
        }
        let piece = &query[start..end];
        let (own, value) = piece.split_once('=').unwrap_or((piece, ""));
        let (own, _) = decoded(own);
        if folded_name(&own) == name.as_bytes() {
            let follows_semicolon = start > 0 && bytes[start - 1] == b';';
            let is_in_fragment = before.contains('#') || query[..start].contains('#');
            let is_cut = end < bytes.len() && bytes[end] == b';';
            is_clear &= own == name.as_bytes() && !follows_semicolon && !is_in_fragment && !is_cut;
            values.push(raw(value));
        }
        start = end + 1;
    }
    if values.len() < 2 && is_clear {
        return of_all(values);
    }
    // As `&` alone divides it.
    let whole = target.split('#').next().unwrap();
    for field in whole.split_once('?').map_or("", |(_, query)| query).split('&') {
        let (own, value) = field.split_once('=').unwrap_or((field, ""));
        if folded_name(&decoded(own).0) == name.as_bytes() {
            values.push(raw(value));
        }
    }
    Values::Ambiguous(values)
}

/// The value of a parameter.
fn raw(value: &str) -> Raw {
    let (bytes, is_sound) = decoded(value);
    let raw = Raw::from(bytes);
    Raw { is_readable: raw.is_readable && is_sound, ..raw }
}

/// Percent-decoded, and whether every `%` was followed by two digits.
fn decoded(text: &str) -> (Vec<u8>, bool) {
    let bytes = text.as_bytes();
    let (mut out, mut at, mut is_sound) = (Vec::new(), 0, true);
    while at < bytes.len() {
        let pair =
            text.get(at + 1..at + 3).filter(|pair| pair.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match (bytes[at], pair) {
            (b'%', Some(pair)) => {
                out.push(u8::from_str_radix(pair, 16).unwrap());
                at += 3;
            }
            (b'%', None) => {
                out.push(b'%');
                (at, is_sound) = (at + 1, false);
            }
            (b'+', _) => {
                out.push(b' ');
                at += 1;
            }
            (byte, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    (out, is_sound)
}

/// The path of a target, in these tests.
fn path_of(target: &str) -> &str {
    let path = target.split(['?', '#']).next().unwrap();
    path.strip_prefix("http://h.x").unwrap_or(path)
}

/// The targets that a request may mean, as sent, decoded and in the rarer readings. Dots that stay are `~`.
pub(super) fn targets(target: &str) -> Vec<String> {
    let path = path_of(target);
    let slashes = |text: &str| text.replace("%2f", "/").replace("%2F", "/");
    let backslashes = |text: &str| text.replace("%5c", "/").replace("%5C", "/").replace('\\', "/");
    let by_segment = |text: &str, change: &dyn Fn(&str) -> String| {
        text.split('/').map(change).collect::<Vec<_>>().join("/")
    };
    let stripped = |text: &str| by_segment(text, &|segment| segment.split(';').next().unwrap().to_owned());
    let cut = |text: &str| {
        let end = text.find("%00").into_iter().chain(text.find('\0')).min().unwrap_or(text.len());
        text[..end].to_owned()
    };
    let trimmed = |text: &str| {
        by_segment(text, &|mut segment| {
            while let Some(shorter) = SPACES.iter().find_map(|space| segment.strip_suffix(space)) {
                segment = shorter;
            }
            segment.to_owned()
        })
    };
    let dots = |text: &str| {
        by_segment(text, &|segment| {
            let is_dots = matches!(&*segment.replace("%2e", ".").replace("%2E", "."), "." | "..");
            if is_dots { "~".to_owned() } else { segment.to_owned() }
        })
    };
    let raw = |text: &str| text.replace('\\', "/");
    let (bare, below) = (stripped(path), stripped(after_host(path).unwrap_or(path)));
    let mut others = vec![
        trimmed(&cut(&backslashes(&slashes(&bare)))),
        trimmed(&stripped(&cut(&backslashes(&slashes(path))))),
        slashes(&bare),
        backslashes(&bare),
        raw(&bare),
        dots(&slashes(&bare)),
        raw(&below),
        trimmed(&cut(&backslashes(&slashes(&below)))),
    ];
    // Dots are removed once before anything is decoded.
    for clean in [&bare, &raw(&bare), &raw(&below)].map(|text| normal_path(text, true, true)) {
        others.push(slashes(&clean));
        others.push(trimmed(&cut(&backslashes(&slashes(&clean)))));
        others.push(dots(&slashes(&clean)));
    }
    let decoded = |text: &str| trimmed(&cut(&backslashes(&slashes(text))));
    if has_parent(path) || path.contains(';') {
        for text in [path.to_owned(), slashes(path), decoded(path)] {
            others.extend([true, false].map(|counts_empty| without_dots(&text, counts_empty)));
        }
        for text in [bare.clone(), slashes(&bare), decoded(&bare)] {
            others.push(without_dots(&text, true));
        }
        let merged = normal_path(&without_dots(path, false), true, true);
        others.extend([slashes(&merged), decoded(&merged)]);
    }
    for part in [path, after_host(path).unwrap_or(path)] {
        let parsed = without_dots(&raw(part), true);
        let normal = normal_path(&parsed, true, true);
        others.extend([parsed, slashes(&normal), decoded(&normal)]);
    }
    let mut all = vec![target.to_owned()];
    for other in others.into_iter().filter(|_| is_odd(target)) {
        if all.iter().all(|one| normal_path(one, true, true) != normal_path(&other, true, true)) {
            all.push(other);
        }
    }
    all
}

/// The path without dot segments. Parameters are part of their segment, and `..` removes an empty segment if it counts.
pub(super) fn without_dots(path: &str, counts_empty: bool) -> String {
    let mut kept = Vec::new();
    let mut ends_open = false;
    for segment in path.strip_prefix('/').unwrap_or(path).split('/') {
        let meant = segment.replace("%2e", ".").replace("%2E", ".");
        ends_open = matches!(&*meant, "" | "." | "..");
        match &*meant {
            "" if !counts_empty => {}
            "." => {}
            ".." => drop(kept.pop()),
            _ => kept.push(segment),
        }
    }
    format!("/{}{}", kept.join("/"), if ends_open { "/" } else { "" })
}

/// Whether a segment is `..` to some server.
fn has_parent(path: &str) -> bool {
    let path =
        path.to_lowercase().replace("%2f", "/").replace("%5c", "/").replace('\\', "/").replace("%2e", ".");
    let spaced = SPACES.iter().fold(path, |path, space| path.replace(&space.to_lowercase(), " "));
    spaced.split('/').any(|segment| segment.split([';', ' ']).next() == Some(".."))
}

/// White space at the end of a segment, in these tests.
const SPACES: [&str; 8] = ["%c2%a0", "%C2%A0", "%20", "%0a", "%0A", "%a0", "%A0", " "];

/// The path after a host, for URL parsers.
fn after_host(path: &str) -> Option<&str> {
    if !path.starts_with("//") && !path.starts_with("/\\") {
        return None;
    }
    let host = path.trim_start_matches(['/', '\\']);
    Some(&host[host.find(['/', '\\']).unwrap_or(host.len())..])
}

/// Whether servers read the path in different ways.
pub(super) fn is_odd(target: &str) -> bool {
    let path = path_of(target).to_lowercase();
    if after_host(&path).is_some() {
        return true;
    }
    let spaced = SPACES.iter().fold(path.clone(), |path, space| path.replace(space, " "));
    if has_parent(&path) && (path.contains(';') || path.contains("//")) {
        return true;
    }
    let has_space = ["/", "\\", ";", "%2f", "%5c", "%00", "\0"].iter().any(|end| {
        let ended = |text: &str| text.contains(&format!(" {end}"));
        ended(&spaced) || spaced.ends_with(' ')
    });
    has_space || ["%2f", "%5c", "\\", "%00", "\0"].iter().any(|odd| path.contains(odd))
}

/// The decoded form of the path, as a target.
fn decoded_target(target: &str) -> String {
    // The first of the others, perhaps not another.
    if !is_odd(target) {
        return target.to_owned();
    }
    let path = path_of(target);
    let bare: Vec<&str> = path.split('/').map(|segment| segment.split(';').next().unwrap()).collect();
    let all = targets(&bare.join("/"));
    all.get(1).unwrap_or(&all[0]).clone()
}
