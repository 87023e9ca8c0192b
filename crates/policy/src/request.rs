//! A request as rules look at it: its facts, with path and host in their one spelling.
//!
//! Made once per request, without the allocator. Knows nothing of rules.

use std::cell::Cell;

use arrayvec::ArrayVec;
use serde_json::Value;

use crate::blank::is_blank;
use crate::path::{
    FormSet, NormalPath, PathForm, PathRoom, RarePaths, after_host, has_several_forms, most_dots, path_of,
    split_absolute,
};
use crate::value::{fingerprint, has_other_spelling};
use crate::{Claims, Facts, MethodSet, PATTERNS_READ_BYTES_MAX};

/// Longest name of a host, in bytes (DNS allows 253); a longer one counts as missing.
const HOST_BYTES_MAX: usize = 255;

/// The facts of a request, and what is computed of them: once, and only if somebody asks.
pub(crate) struct Request<'r> {
    pub(crate) facts: &'r Facts<'r>,
    pub(crate) method: MethodSet,
    path: Lazy<NormalPath<'r>, &'r mut PathRoom>,
    /// The decoded form of the path, of requests whose path has several forms.
    decoded: Lazy<NormalPath<'r>, &'r mut PathRoom>,
    /// The rarer forms of the path, of the same requests.
    rare: Lazy<RarePaths<'r>, &'r mut PathRoom>,
    /// The forms of the path that differ.
    forms: Cell<Option<FormSet>>,
    /// The header field of the token, in lower case.
    token_header: &'r str,
    host: Lazy<Option<&'r str>, &'r mut HostRoom>,
    fingerprint: Cell<Option<[u8; 32]>>,
    /// Bytes that regexes and globs may still read.
    pattern_bytes_left: Cell<usize>,
}

/// Where a request's path and host are written if they came in another spelling.
#[derive(Debug, Default)]
pub(crate) struct RequestRoom {
    path: PathRoom,
    decoded: PathRoom,
    rare: PathRoom,
    host: HostRoom,
}

/// Room for the name of a host.
type HostRoom = ArrayVec<u8, HOST_BYTES_MAX>;

/// Something that is computed in a room, which is given away then.
enum Stage<T, R> {
    Asleep(R),
    Awake(T),
    /// Only while it is computed.
    Waking,
}

struct Lazy<T, R>(Cell<Stage<T, R>>);

impl<T: Copy, R> Lazy<T, R> {
    fn new(room: R) -> Lazy<T, R> {
        Lazy(Cell::new(Stage::Asleep(room)))
    }

    /// The value; `fallback` if computing it asks for it.
    #[inline]
    fn get(&self, fallback: T, compute: impl FnOnce(R) -> T) -> T {
        let value = match self.0.replace(Stage::Waking) {
            Stage::Asleep(room) => compute(room),
            Stage::Awake(value) => value,
            Stage::Waking => fallback,
        };
        self.0.set(Stage::Awake(value));
        value
    }
}

impl<'r> Request<'r> {
    #[inline]
    pub(crate) fn new(facts: &'r Facts<'r>, room: &'r mut RequestRoom) -> Request<'r> {
        Request {
            facts,
            method: MethodSet::of(facts.method),
            path: Lazy::new(&mut room.path),
            decoded: Lazy::new(&mut room.decoded),
            rare: Lazy::new(&mut room.rare),
            forms: Cell::new(None),
            token_header: "authorization",
            host: Lazy::new(&mut room.host),
            fingerprint: Cell::new(None),
            pattern_bytes_left: Cell::new(PATTERNS_READ_BYTES_MAX),
        }
    }

    /// The same request under a policy that reads tokens from this header field.
    #[must_use]
    #[inline]
    pub(crate) fn with_token_header(self, header: Option<&'r str>) -> Request<'r> {
        Request { token_header: header.unwrap_or(self.token_header), ..self }
    }

    /// The path of its target in this form, one of [`Request::forms`].
    pub(crate) fn path(&self, form: PathForm) -> NormalPath<'r> {
        match form.number().checked_sub(2) {
            Some(rare) => self.rare_paths().get(rare).copied().flatten().unwrap_or(NormalPath::ROOT),
            None if form == PathForm::SENT => self.sent_path(),
            None => self.decoded_path(),
        }
    }

    /// The path as it was sent.
    pub(crate) fn sent_path(&self) -> NormalPath<'r> {
        self.path.get(NormalPath::ROOT, |room| NormalPath::of(self.facts.target, room))
    }

    /// The decoded form of the path, which is the path as sent for most requests.
    pub(crate) fn decoded_path(&self) -> NormalPath<'r> {
        if self.forms() == FormSet::SENT {
            return self.sent_path();
        }
        self.read_decoded()
    }

    /// The forms of the path that differ from all forms before them: the path as sent alone for most requests.
    pub(crate) fn forms(&self) -> FormSet {
        if let Some(forms) = self.forms.get() {
            return forms;
        }
        let forms = if self.has_several_forms() { self.different_forms() } else { FormSet::SENT };
        self.forms.set(Some(forms));
        forms
    }

    #[cold]
    fn different_forms(&self) -> FormSet {
        let mut paths: ArrayVec<NormalPath<'r>, { PathForm::COUNT }> = ArrayVec::new();
        let all = [self.sent_path(), self.read_decoded()].map(Some).into_iter().chain(self.rare_paths());
        PathForm::all().zip(all).fold(FormSet::NONE, |forms, (form, path)| match path {
            Some(path) if !paths.iter().any(|other| other.is(path)) => {
                paths.push(path);
                forms.with(form)
            }
            _ => forms,
        })
    }

    fn read_decoded(&self) -> NormalPath<'r> {
        self.decoded.get(NormalPath::ROOT, |room| NormalPath::decoded(self.facts.target, room))
    }

    fn rare_paths(&self) -> RarePaths<'r> {
        self.rare.get([None; _], |room| NormalPath::rare(self.facts.target, room))
    }

    /// Whether servers read the path in different ways.
    pub(crate) fn has_several_forms(&self) -> bool {
        has_several_forms(path_of(self.facts.target))
    }

    /// Whether the path has several forms and begins with a host or has a `..`: servers arrive at different paths, of
    /// which a client could vary one and keep another.
    pub(crate) fn has_ambiguous_path(&self) -> bool {
        let path = path_of(self.facts.target);
        self.forms() != FormSet::SENT && (after_host(path).is_some() || most_dots(path.as_bytes()) == 2)
    }

    /// In lower case, without port or final dot; `None` if there is none.
    pub(crate) fn host(&self) -> Option<&'r str> {
        self.host.get(None, |room| normal_host(named_host(self.facts), room))
    }

    /// What a token says, as far as the rule believes it (K4).
    pub(crate) fn claims(&self, trusts_upstream: bool) -> Option<&'r Value> {
        match self.facts.claims {
            Claims::Verified(claims) => Some(claims),
            Claims::Unverified(claims) if trusts_upstream => Some(claims),
            Claims::Unverified(_) | Claims::None => None,
        }
    }

    /// Whether there are no claims because the token's header field occurs more than once or in another spelling, is not
    /// UTF-8, or holds a token that only some servers read. Fields that a proxy has joined by commas are several.
    pub(crate) fn has_ambiguous_token(&self) -> bool {
        let headers = self.facts.headers;
        let is_readable = |value| !has_joined_tokens(value) && !has_unusual_blanks(value);
        matches!(self.facts.claims, Claims::None)
            && (headers.is_present(self.token_header)
                && !headers.get(self.token_header).is_some_and(is_readable)
                || has_other_spelling(headers, self.token_header))
    }

    /// Whether the user is not known because the token that may name it is ambiguous.
    pub(crate) fn has_ambiguous_user(&self) -> bool {
        self.facts.user.is_none_or(str::is_empty) && self.has_ambiguous_token()
    }

    /// Takes off bytes that a regex or glob is to read. Returns `false` if too few are left.
    pub(crate) fn take_pattern_bytes(&self, bytes: usize) -> bool {
        let left = self.pattern_bytes_left.get().checked_sub(bytes);
        left.inspect(|left| self.pattern_bytes_left.set(*left)).is_some()
    }

    /// Does work whose reading does not count.
    pub(crate) fn without_counting<T>(&self, work: impl FnOnce() -> T) -> T {
        let left = self.pattern_bytes_left.replace(usize::MAX);
        let result = work();
        self.pattern_bytes_left.set(left);
        result
    }

    /// The client software, as far as its header names tell (X4); computed at most once.
    pub(crate) fn fingerprint(&self) -> [u8; 32] {
        let digest = self.fingerprint.get().unwrap_or_else(|| fingerprint::of(self.facts));
        self.fingerprint.set(Some(digest));
        digest
    }
}

/// Whether a comma stands beside a bearer token. No token has one.
fn has_joined_tokens(value: &str) -> bool {
    let is_bearer = |part: &str| {
        let scheme = part.trim_ascii_start().split(' ').next();
        scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer"))
    };
    value.contains(',') && value.split(',').any(is_bearer)
}

/// Whether `Bearer` and a token are separated otherwise than by spaces, or white space is within the token: the gate reads no
/// such token, and servers that split at any white space do.
fn has_unusual_blanks(value: &str) -> bool {
    let value = value.trim_matches(is_blank);
    let (scheme, token) = value.split_at_checked("bearer".len()).unwrap_or_default();
    scheme.eq_ignore_ascii_case("bearer")
        && token.starts_with(is_blank)
        && token.trim_start_matches(' ').contains(is_blank)
}

/// An absolute target names the host, whatever the door or the `Host` field say (RFC 9112, 3.2.2): naming two gets nobody past a
/// rule.
fn named_host<'h>(facts: &Facts<'h>) -> &'h str {
    let of_target = split_absolute(facts.target).and_then(|(authority, _)| authority.rsplit('@').next());
    match of_target.filter(|host| !host.is_empty()) {
        Some(host) => host,
        None if facts.host.is_empty() => facts.headers.first("host").unwrap_or_default(),
        None => facts.host,
    }
}

/// `Example.COM.:8080` and `example.com` are one host.
fn normal_host<'h>(host: &'h str, room: &'h mut HostRoom) -> Option<&'h str> {
    let is_usual = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.');
    if host.bytes().all(is_usual) && !host.ends_with('.') && host.len() <= HOST_BYTES_MAX {
        return Some(host).filter(|host| !host.is_empty());
    }
    let host = without_port(host.trim_ascii());
    let host = host.strip_suffix('.').unwrap_or(host);
    if host.is_empty() || host.len() > HOST_BYTES_MAX {
        return None;
    }
    if !host.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Some(host);
    }
    room.clear();
    room.try_extend_from_slice(host.as_bytes()).ok()?;
    room.make_ascii_lowercase();
    str::from_utf8(room).ok()
}

fn without_port(host: &str) -> &str {
    if host.starts_with('[') {
        return host.find(']').and_then(|at| host.get(..=at)).unwrap_or(host);
    }
    match host.split_once(':') {
        Some((name, port)) if !port.contains(':') => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::{HostRoom, named_host, normal_host};
    use crate::Facts;

    #[test]
    fn an_absolute_target_names_the_host() {
        let named = |target| named_host(&Facts { host: "b.example", ..Facts::new("GET", target) }).to_owned();
        assert_eq!(named("http://a.example:80/x"), "a.example:80");
        assert_eq!(named("https://user:pw@a.example?x"), "a.example");
        assert_eq!(named("/x?y=http://a.example/"), "b.example");
        assert_eq!(named("http:///x"), "b.example");
        assert_eq!(named("*"), "b.example");
    }

    #[test]
    fn where_nobody_names_the_host_the_first_host_field_does() {
        let two = vec![("Host", "a.example"), ("host", "b.example")];
        let two: Vec<_> = two.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let facts = Facts { headers: &two, ..Facts::new("GET", "/") };
        assert_eq!(named_host(&facts), "a.example");
        assert_eq!(named_host(&Facts { host: "c.example", ..facts }), "c.example");
    }

    #[test]
    fn every_spelling_of_a_host_is_one() {
        for host in [
            "example.com",
            "Example.COM",
            "example.com:8080",
            "example.com.",
            "EXAMPLE.com.:1",
            " example.com ",
        ] {
            assert_eq!(normal_host(host, &mut HostRoom::new()), Some("example.com"), "{host}");
        }
        assert_eq!(normal_host("[2001:DB8::1]:443", &mut HostRoom::new()), Some("[2001:db8::1]"));
        assert_eq!(normal_host("::1", &mut HostRoom::new()), Some("::1"));
        assert_eq!(normal_host("", &mut HostRoom::new()), None);
        assert_eq!(normal_host(":80", &mut HostRoom::new()), None);
        assert_eq!(normal_host(&"a".repeat(256), &mut HostRoom::new()), None);
    }
}
