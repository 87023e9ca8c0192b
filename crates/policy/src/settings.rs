//! What a policy says besides its rules.

use ipnet::IpNet;

/// How answers look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerSettings {
    /// Which header fields tell the client where it stands.
    pub headers: HeaderProfiles,
    /// What a denial's body is.
    pub body: BodyProfile,
    /// By up to how many percent waits are lengthened, so that clients denied together do not return together. 0 to 100.
    pub jitter_percent: u8,
    /// The field that holds the reason of a denial.
    pub reason_header: Box<str>,
}

/// Treatment of a path with an encoded slash, a backslash, white space at the end of a segment or a NUL byte (raw or
/// encoded), or that begins with `//` or `/\`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PathEncoded {
    /// A limit or block rule applies if the path as sent or one of its decoded forms matches, an allow rule only if all do.
    #[default]
    Fold,
    /// The request is refused with 400.
    Refuse,
}

/// Sets of header fields; any of them together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeaderProfiles {
    /// `RateLimit-Policy` and `RateLimit`: draft-ietf-httpapi-ratelimit-headers-11.
    pub draft: bool,
    /// `RateLimit-Limit`, `-Remaining`, `-Reset`, with deltas.
    pub legacy: bool,
    /// `X-RateLimit-Limit`, `-Remaining`, `-Reset`, the reset as a unix time.
    pub x: bool,
}

/// What a denial's body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyProfile {
    /// RFC 9457, `application/problem+json`.
    Problem,
    /// `{error, message, retryAfter, retry_after_ms, violated_tier}`.
    Simple,
}

/// Whose word is taken for the client's address (K3). Nobody's, unless told otherwise: the socket's peer is the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientAddressSettings {
    /// Which of the peers are proxies of ours.
    pub trust: Trust,
    /// The one header field in which they say whom they serve.
    pub header: ForwardingHeader,
}

/// Which peers are proxies of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// None.
    Nobody,
    /// Those of these networks.
    Networks(Vec<IpNet>),
    /// So many hops from here, whatever their addresses; at least 1.
    Hops(u8),
}

/// A header field that names clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForwardingHeader {
    /// `X-Forwarded-For`.
    XForwardedFor,
    /// `Forwarded`, RFC 7239.
    Forwarded,
    /// A field that holds one address, such as `CF-Connecting-IP`; in lower case.
    Single(Box<str>),
}

/// How tokens are verified (K4). Fetching keys is the caller's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JwtSettings {
    /// The header field that holds the token, in lower case; `authorization` unless told otherwise, there after `Bearer`.
    pub header: Box<str>,
    /// What it may be signed with.
    pub keys: Vec<JwtKey>,
    /// Who must have issued it, if it matters.
    pub issuer: Option<Box<str>>,
    /// Whom it must be for, if it matters.
    pub audience: Option<Box<str>>,
    /// The claim that names the user; `sub` unless told otherwise.
    pub user_claim: Box<str>,
    /// The claim that names the plan; `plan` unless told otherwise.
    pub plan_claim: Box<str>,
    /// Clocks may differ by so many seconds; 0 unless told otherwise.
    pub leeway_s: u64,
}

/// One key, or a set of them, as the policy names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JwtKey {
    /// A shared secret of the algorithm (`HS256`, …), read from this environment variable.
    SecretFromEnv {
        /// `HS256`, `HS384` or `HS512`.
        algorithm: Box<str>,
        /// The variable.
        variable: Box<str>,
    },
    /// A public key in PEM, read from this file.
    PemFile {
        /// `RS256`, `ES256`, `EdDSA`, ….
        algorithm: Box<str>,
        /// The file.
        path: Box<str>,
    },
    /// A JSON Web Key Set in this file.
    JwksFile(Box<str>),
    /// A JSON Web Key Set at this address.
    JwksUrl(Box<str>),
}

impl Default for AnswerSettings {
    fn default() -> Self {
        AnswerSettings {
            headers: HeaderProfiles { draft: true, legacy: false, x: false },
            body: BodyProfile::Problem,
            jitter_percent: 50,
            reason_header: "Tollgate-Reason".into(),
        }
    }
}

/// Without keys, by which no token is genuine.
impl Default for JwtSettings {
    fn default() -> Self {
        JwtSettings {
            header: "authorization".into(),
            keys: Vec::new(),
            issuer: None,
            audience: None,
            user_claim: "sub".into(),
            plan_claim: "plan".into(),
            leeway_s: 0,
        }
    }
}

impl Default for ClientAddressSettings {
    fn default() -> Self {
        ClientAddressSettings { trust: Trust::Nobody, header: ForwardingHeader::XForwardedFor }
    }
}
