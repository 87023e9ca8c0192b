//! `jwt`: by which keys tokens are verified (K4). Names where keys are; secrets never stand in a policy.

use crate::{JwtKey, JwtSettings};

use super::fields::Fields;
use super::found::Found;
use super::rule::header;
use super::tree::{Kind, Node};
use super::{choice, did_you_mean, span};

const FIELDS: [&str; 7] = ["keys", "header", "issuer", "audience", "user_claim", "plan_claim", "leeway"];
const KEY_FIELDS: [&str; 5] = ["algorithm", "secret_env", "pem_file", "jwks_file", "jwks_url"];
const SHARED: [&str; 3] = ["HS256", "HS384", "HS512"];
const PUBLIC: [&str; 9] = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"];
/// Most keys.
const KEYS_MAX: usize = 32;
const TEXT_BYTES_MAX: usize = 1_024;
/// Longest difference between clocks: an hour.
const LEEWAY_NANOS_MAX: u64 = 3_600_000_000_000;
const KEY_CURE: &str = "write `{algorithm: HS256, secret_env: JWT_SECRET}`, `{algorithm: RS256, pem_file: key.pem}`, `{jwks_file: keys.json}` or `{jwks_url: https://…}`";

/// Reads the settings; `None` after a mistake.
pub(super) fn read(node: &Node<'_>, found: &mut Found) -> Option<JwtSettings> {
    let mut fields = Fields::of(node, "`jwt`", "write `jwt: {keys: [{jwks_file: keys.json}]}`", found)?;
    let keys = fields.need("keys", "`jwt`", KEY_CURE, found).and_then(|node| keys(node, found));
    let usual = JwtSettings::default();
    let header = fields.take("header").map_or(Some(usual.header), |node| header(node, "header", found));
    let mut text = |name: &str| {
        fields.take(name).map(|node| choice::text(node, name, TEXT_BYTES_MAX, found).map(Box::from))
    };
    let (issuer, audience) = (text("issuer"), text("audience"));
    let (user_claim, plan_claim) = (text("user_claim"), text("plan_claim"));
    let leeway = fields.take("leeway").map_or(Some(usual.leeway_s), |node| leeway(node, found));
    fields.refuse_rest("`jwt`", &FIELDS, found);
    Some(JwtSettings {
        header: header?,
        keys: keys?,
        issuer: match issuer {
            Some(issuer) => Some(issuer?),
            None => None,
        },
        audience: match audience {
            Some(audience) => Some(audience?),
            None => None,
        },
        user_claim: user_claim.unwrap_or(Some(usual.user_claim))?,
        plan_claim: plan_claim.unwrap_or(Some(usual.plan_claim))?,
        leeway_s: leeway?,
    })
}

fn leeway(node: &Node<'_>, found: &mut Found) -> Option<u64> {
    let span = span::read(node, "leeway", "30s", found)?;
    let nanos = span.as_nanos();
    if nanos > LEEWAY_NANOS_MAX || nanos % 1_000_000_000 != 0 {
        found.add(
            node.place,
            format!("`leeway` is {}", node.described()),
            "write whole seconds, at most an hour",
        );
        return None;
    }
    Some(nanos / 1_000_000_000)
}

fn keys(node: &Node<'_>, found: &mut Found) -> Option<Vec<JwtKey>> {
    let Kind::List(items) = &node.kind else {
        found.unfit(node, "keys", "a list", KEY_CURE);
        return None;
    };
    if items.is_empty() || items.len() > KEYS_MAX {
        found.add(
            node.head(),
            format!("`keys` lists {} keys", items.len()),
            format!("write 1 to {KEYS_MAX}"),
        );
        return None;
    }
    let keys: Vec<Option<JwtKey>> = items.iter().map(|item| key(item, found)).collect();
    keys.into_iter().collect()
}

fn key(node: &Node<'_>, found: &mut Found) -> Option<JwtKey> {
    let mut fields = Fields::of(node, "a key", KEY_CURE, found)?;
    let algorithm = fields.take("algorithm");
    let sources: Vec<_> =
        KEY_FIELDS[1..].iter().filter_map(|name| fields.take(name).map(|node| (*name, node))).collect();
    let head = fields.head;
    let strangers: Vec<_> = fields.rest().collect();
    for (key, _) in &strangers {
        let cure = match key.text.as_ref() {
            "secret" | "key" | "value" => {
                "keep secrets out of policies: put it into the environment and write `secret_env: JWT_SECRET`"
                    .to_owned()
            }
            name => did_you_mean::cure(name, &KEY_FIELDS),
        };
        found.add(key.place, format!("a key has no field `{}`", super::tree::cut(&key.text)), cure);
    }
    let [(name, source)] = sources[..] else {
        if strangers.is_empty() {
            found.add(head, format!("this key is in {} places", sources.len()), KEY_CURE);
        }
        return None;
    };
    let text: Option<Box<str>> = choice::text(source, name, TEXT_BYTES_MAX, found).map(Into::into);
    let known: &[&str] = match name {
        "secret_env" => &SHARED,
        "pem_file" => &PUBLIC,
        _ => &[],
    };
    let algorithm = match (algorithm, known) {
        (Some(node), []) => {
            found.add(node.place, "a key set names the algorithm of each key itself", "delete `algorithm`");
            return None;
        }
        (None, []) => "".into(),
        (None, _) => {
            found.add(
                head,
                format!("this key has a `{name}` and no `algorithm`"),
                format!("add one of {}", did_you_mean::listed(known)),
            );
            return None;
        }
        (Some(node), known) => one_of(node, known, found)?,
    };
    let text = text?;
    Some(match name {
        "secret_env" => JwtKey::SecretFromEnv { algorithm, variable: text },
        "pem_file" => JwtKey::PemFile { algorithm, path: text },
        "jwks_file" => JwtKey::JwksFile(text),
        _ => JwtKey::JwksUrl(url(source, text, found)?),
    })
}

/// An address that a key set can be fetched from. It holds no password, since policies are no place for secrets.
fn url(node: &Node<'_>, url: Box<str>, found: &mut Found) -> Option<Box<str>> {
    let Some(rest) = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://")) else {
        found.unfit(node, "jwks_url", "an address", "write `https://…`; a file goes into `jwks_file`");
        return None;
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let (what, cure) = if authority.contains('@') {
        ("`jwks_url` holds a user or a password", "delete what stands before `@`; a key set is public")
    } else if authority.is_empty() || authority.starts_with(':') {
        ("`jwks_url` names no host", "write it as in `https://id.example.com/jwks`")
    } else if url.contains('#') {
        ("`jwks_url` has a fragment, which is never sent", "delete it from the `#` on")
    } else if !url.bytes().all(|byte| byte.is_ascii_graphic()) {
        (
            "`jwks_url` holds a space or a letter outside of ASCII",
            "write such bytes as in `%20`, and the host as in `xn--…`",
        )
    } else {
        return Some(url);
    };
    found.add(node.place, what, cure);
    None
}

fn one_of(node: &Node<'_>, known: &[&str], found: &mut Found) -> Option<Box<str>> {
    let words: Vec<(&str, usize)> = known.iter().copied().zip(0..).collect();
    let at = choice::one_of(node, "algorithm", &words, found)?;
    known.get(at).map(|name| (*name).into())
}
