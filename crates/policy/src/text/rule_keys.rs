//! Whose bucket it is: `limit_keys`, or `scope` alone.

use crate::presets::Preset;
use crate::{Condition, KeySource, Scope};

use super::fields::Fields;
use super::found::Found;
use super::tree::{Kind, Node};
use super::{choice, key_source};

/// Most parts of a key. A key holds 512 bytes.
const KEY_PARTS_MAX: usize = 8;

const SCOPES: [(&str, Scope); 6] = [
    ("user", Scope::User),
    ("ip", Scope::Ip),
    ("network", Scope::Network),
    ("organisation", Scope::Organisation),
    ("endpoint", Scope::Endpoint),
    ("global", Scope::Global),
];
const NO_KEYS: &str = "add `scope: user`, `scope: ip` or `scope: global`; or say what tells clients apart, as in `limit_keys: [header:x-api-key]`";

/// The scope and the keys of a rule that limits. `None` after a mistake.
pub(super) fn read(
    fields: &mut Fields<'_, '_>,
    condition: Option<&Condition>,
    preset: Option<&Preset>,
    found: &mut Found,
) -> Option<(Scope, Vec<KeySource>)> {
    let scope_node = fields.take("scope");
    let scope = scope_node.map(|node| scope(node, found));
    let keys = fields.take("limit_keys").map(|node| keys(node, found));
    match (scope, keys) {
        (Some(scope), Some(keys)) => {
            let (scope, keys) = (scope?, keys?);
            if !is_about(scope, &keys, condition) {
                found.add(
                    scope_node?.place,
                    disagreement(scope, &keys),
                    disagreement_cure(scope, &keys, condition),
                );
                return None;
            }
            Some((scope, keys))
        }
        (None, Some(keys)) => {
            let keys = keys?;
            Some((scope_of(&keys, condition), keys))
        }
        (Some(scope), None) => {
            let scope = scope?;
            keys_of(scope, scope_node?, condition, found).map(|keys| (scope, keys))
        }
        (None, None) => match preset {
            Some(preset) => Some((preset.scope, vec![preset.key.clone()])),
            None if fields.is_asked_for("limit_keys") || fields.is_asked_for("scope") => None,
            None if fields.peek("preset").is_some() => None,
            None => {
                found.add_to_whole(fields.head, "nothing says whose bucket this is", NO_KEYS);
                None
            }
        },
    }
}

/// What a rule is about, by its name, or a mistake.
pub(super) fn scope(node: &Node<'_>, found: &mut Found) -> Option<Scope> {
    let cure = match node.scalar().unwrap_or_default() {
        "organization" | "org" | "tenant" | "customer" | "account" => Some("write `organisation`"),
        "address" | "ip:address" | "client_ip" => Some("write `ip`"),
        "route" | "path" | "service" => Some("write `endpoint`"),
        "client" | "api_key" | "per_user" => {
            Some("write `user`, with `limit_keys: [header:x-api-key]` if the key is in a header")
        }
        "all" | "shared" | "instance" => Some("write `global`"),
        _ => None,
    };
    match cure {
        Some(cure) => {
            found.add(node.place, format!("`scope` cannot be {}", node.described()), cure);
            None
        }
        None => choice::one_of(node, "scope", &SCOPES, found),
    }
}

fn keys(node: &Node<'_>, found: &mut Found) -> Option<Vec<KeySource>> {
    // An empty list is what it says: nothing tells clients apart.
    if matches!(&node.kind, Kind::List(items) if items.is_empty()) {
        return Some(Vec::new());
    }
    let items = choice::items(node, "limit_keys", found);
    if items.len() > KEY_PARTS_MAX {
        found.add(
            node.head(),
            format!("`limit_keys` has {} parts", items.len()),
            format!("use at most {KEY_PARTS_MAX}"),
        );
        return None;
    }
    let mut parts: Vec<Option<KeySource>> = Vec::new();
    for item in items {
        let Some(text) = item.scalar().filter(|_| !item.is_null()) else {
            found.unfit(
                item,
                "limit_keys",
                "a list of sources",
                "write where each part comes from, as in `limit_keys: [header:x-api-key]`",
            );
            parts.push(None);
            continue;
        };
        let part = key_source::read(text, item.place, found);
        if part.is_some() && parts.contains(&part) {
            found.add(item.place, format!("`{text}` is in `limit_keys` twice"), "delete one of the two");
        }
        parts.push(part);
    }
    parts.into_iter().collect()
}

/// The keys that a scope alone stands for.
fn keys_of(
    scope: Scope,
    node: &Node<'_>,
    condition: Option<&Condition>,
    found: &mut Found,
) -> Option<Vec<KeySource>> {
    match scope {
        Scope::User => Some(vec![KeySource::User]),
        Scope::Ip | Scope::Network => Some(vec![KeySource::ONE_CLIENT]),
        Scope::Endpoint if condition.is_some_and(|condition| !tests_route(condition)) => {
            let cure = "add `path: /api/search`; or `limit_keys: [path]` for one bucket per route";
            found.add(node.place, "`scope` is `endpoint`, and nothing says which", cure);
            None
        }
        Scope::Endpoint | Scope::Global => Some(Vec::new()),
        Scope::Organisation => {
            let cure = "add where its name is, as in `limit_keys: [jwt:org]` or `limit_keys: [header:x-org]`";
            found.add(node.place, "`scope` is `organisation`, and nothing says how to tell them apart", cure);
            None
        }
    }
}

/// Whether the buckets that these keys pick are what the scope says they are. Parts that divide them further do no harm.
pub(super) fn is_about(scope: Scope, keys: &[KeySource], condition: Option<&Condition>) -> bool {
    use KeySource as K;
    let has = |test: fn(&K) -> bool| keys.iter().any(test);
    match scope {
        Scope::User => {
            has(|key| matches!(key, K::User | K::Header(_) | K::Query(_) | K::Cookie(_) | K::Claim(_)))
        }
        Scope::Ip => has(|key| matches!(key, K::Address | K::Prefix { .. })),
        // The network of a client may be told by a header, such as that of its provider.
        Scope::Network => has(|key| matches!(key, K::Prefix { .. } | K::Fingerprint | K::Header(_))),
        Scope::Organisation => has(|key| {
            matches!(
                key,
                K::Header(_) | K::Query(_) | K::Cookie(_) | K::Claim(_) | K::Plan | K::Host | K::Constant(_)
            )
        }),
        Scope::Endpoint if keys.is_empty() => condition.is_none_or(tests_route),
        Scope::Endpoint => has(|key| matches!(key, K::Path | K::Method | K::Host)),
        Scope::Global => keys.iter().all(|key| matches!(key, K::Constant(_))),
    }
}

fn disagreement(scope: Scope, keys: &[KeySource]) -> String {
    let listed: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    let by = match &listed[..] {
        [] => "one bucket for all".to_owned(),
        listed => format!("a bucket for each {}", listed.join(" and ")),
    };
    format!("`scope` is `{}`, but `limit_keys` asks for {by}", scope.name())
}

fn disagreement_cure(scope: Scope, keys: &[KeySource], condition: Option<&Condition>) -> String {
    let meant = scope_of(keys, condition);
    if meant != scope && is_about(meant, keys, condition) {
        format!("write `scope: {}`, or delete `scope` or `limit_keys`", meant.name())
    } else {
        "delete `scope` or `limit_keys`".to_owned()
    }
}

/// Whether a condition looks at the path or the host anywhere.
fn tests_route(condition: &Condition) -> bool {
    match condition {
        Condition::Path(_) | Condition::Host(_) | Condition::Value(KeySource::Path, _) => true,
        Condition::All(tests) | Condition::Any(tests) => tests.iter().any(tests_route),
        Condition::Not(test) => tests_route(test),
        Condition::Always | Condition::Method(_) | Condition::Value(..) | Condition::Client(_) => false,
    }
}

/// What a rule is about, by its keys: the narrowest of them.
fn scope_of(keys: &[KeySource], condition: Option<&Condition>) -> Scope {
    let has = |test: fn(&KeySource) -> bool| keys.iter().any(test);
    match () {
        () if has(|key| {
            matches!(
                key,
                KeySource::User
                    | KeySource::Header(_)
                    | KeySource::Cookie(_)
                    | KeySource::Claim(_)
                    | KeySource::Query(_)
            )
        }) =>
        {
            Scope::User
        }
        () if has(|key| *key == KeySource::Address) => Scope::Ip,
        () if has(|key| matches!(key, KeySource::Prefix { .. } | KeySource::Fingerprint)) => Scope::Network,
        () if has(|key| *key == KeySource::Plan) => Scope::Organisation,
        () if has(|key| matches!(key, KeySource::Path | KeySource::Method | KeySource::Host)) => {
            Scope::Endpoint
        }
        () if condition.is_some_and(tests_route) => Scope::Endpoint,
        () => Scope::Global,
    }
}

#[cfg(test)]
mod tests {
    use crate::{Mistakes, Policy, Scope};

    fn scope_of(fields: &str) -> Result<Scope, Mistakes> {
        let policy = Policy::parse("test", &format!("{{name: a, {fields}, rate: 1, burst: 1}}"))?;
        Ok(policy.rules[0].scope)
    }

    #[test]
    fn a_scope_beside_keys_that_it_describes_is_kept() {
        for (fields, scope) in [
            ("scope: user, limit_keys: [header:x-api-key]", Scope::User),
            ("scope: user, limit_keys: [user, path]", Scope::User),
            ("scope: ip, limit_keys: ['ip:address']", Scope::Ip),
            ("scope: ip, limit_keys: ['ip:prefix/24', path]", Scope::Ip),
            ("scope: network, limit_keys: [header:x-asn]", Scope::Network),
            ("scope: network, limit_keys: [fingerprint]", Scope::Network),
            ("scope: organisation, limit_keys: ['jwt:org']", Scope::Organisation),
            ("scope: organisation, limit_keys: [host]", Scope::Organisation),
            ("scope: endpoint, limit_keys: [path]", Scope::Endpoint),
            ("scope: endpoint, limit_keys: [user, path]", Scope::Endpoint),
            ("scope: endpoint, path: /a, limit_keys: []", Scope::Endpoint),
            ("scope: global, limit_keys: []", Scope::Global),
            ("scope: global, limit_keys: ['constant:all']", Scope::Global),
        ] {
            assert_eq!(scope_of(fields).unwrap_or_else(|mistakes| panic!("{fields}: {mistakes}")), scope);
        }
    }

    #[test]
    fn a_scope_beside_other_keys_is_a_mistake_with_a_cure() {
        for fields in [
            "scope: global, limit_keys: [user]",
            "scope: user, limit_keys: ['ip:address']",
            "scope: user, limit_keys: [plan]",
            "scope: ip, limit_keys: [header:x-api-key]",
            "scope: network, limit_keys: ['ip:address']",
            "scope: organisation, limit_keys: []",
            "scope: endpoint, path: /a, limit_keys: [user]",
            "scope: endpoint, limit_keys: []",
        ] {
            let mistakes = scope_of(fields).expect_err(fields);
            let mistake = mistakes.iter().next().unwrap();
            assert_eq!(mistakes.count(), 1, "{mistakes}");
            assert!(mistake.what.contains("but `limit_keys` asks for"), "{mistakes}");
            assert!(mistake.cure.contains("delete `scope` or `limit_keys`"), "{mistakes}");
        }
    }
}
