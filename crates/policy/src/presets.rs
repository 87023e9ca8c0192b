//! Limits that come up again and again, by name, with their figures (P8).

use tollgate_core::{Rate, Span};

use crate::{KeySource, Scope};

/// A limit by name, and a policy that shows its use.
#[derive(Debug)]
pub struct Preset {
    /// What `preset:` or `burst_hint:` call it.
    pub name: &'static str,
    /// What it is for, in a sentence.
    pub description: &'static str,
    /// A whole policy that uses it.
    pub yaml: &'static str,
    /// Tokens, per so many seconds.
    pub(crate) rate: (u64, u64),
    /// Whole tokens.
    pub(crate) burst: u64,
    pub(crate) scope: Scope,
    pub(crate) key: KeySource,
}

/// What `preset:` accepts; the rest of [`presets`] are burst hints.
pub(crate) const NAMES: [&str; 4] = ["public-read", "authenticated", "webhook", "password-reset"];

#[rustfmt::skip]
static PRESETS: [Preset; 9] = [
    Preset {
        name: "public-read",
        description: "Anyone may read: 60 at once, then 1 per second, for each client (an IPv4 address, an IPv6 /64).",
        yaml: "rules:\n  - name: public-read\n    preset: public-read\n    method: [GET, HEAD]\n",
        rate: (1, 1), burst: 60, scope: Scope::Ip, key: KeySource::ONE_CLIENT,
    },
    Preset {
        name: "authenticated",
        description: "Users who have signed in: 100 at once, then 10 per second, for each user.",
        yaml: "rules:\n  - name: authenticated\n    preset: authenticated\n",
        rate: (10, 1), burst: 100, scope: Scope::User, key: KeySource::User,
    },
    Preset {
        name: "webhook",
        description: "Machines that call back in bulk: 500 at once, then 50 per second, for each client (an IPv4 address, an IPv6 /64).",
        yaml: "rules:\n  - name: webhook\n    preset: webhook\n    method: POST\n    path: /webhooks/*\n",
        rate: (50, 1), burst: 500, scope: Scope::Ip, key: KeySource::ONE_CLIENT,
    },
    Preset {
        name: "password-reset",
        description: "What must not be guessed: 5 at once, then 1 in 333 seconds, for each client (an IPv4 address, an IPv6 /64).",
        yaml: "rules:\n  - name: password-reset\n    preset: password-reset\n    method: POST\n    path: /password-reset\n",
        rate: (3, 1_000), burst: 5, scope: Scope::Ip, key: KeySource::ONE_CLIENT,
    },
    hint("interactive", "A burst hint: 5 seconds of the rate at once, for pages that load in clumps.",
        "rules:\n  - name: interactive\n    scope: user\n    rate: 10/s\n    burst_hint: interactive\n"),
    hint("strict", "A burst hint: 1 second of the rate at once, for what must stay even.",
        "rules:\n  - name: strict\n    scope: user\n    rate: 10/s\n    burst_hint: strict\n"),
    hint("batch", "A burst hint: 10 seconds of the rate at once, for jobs that come in heaps.",
        "rules:\n  - name: batch\n    scope: user\n    rate: 10/s\n    burst_hint: batch\n"),
    hint("llm-tools", "A burst hint: 1 second of the rate at once, each request costing what its header `x-token-cost` says.",
        "rules:\n  - name: llm-tools\n    scope: user\n    rate: 1000/s\n    burst_hint: llm-tools\n    max_cost: 100\n"),
    hint("burst-credit", "A burst hint: 300 seconds of the rate, saved up while idle.",
        "rules:\n  - name: burst-credit\n    scope: user\n    rate: 2/s\n    burst_hint: burst-credit\n"),
];

const fn hint(name: &'static str, description: &'static str, yaml: &'static str) -> Preset {
    Preset { name, description, yaml, rate: (1, 1), burst: 1, scope: Scope::User, key: KeySource::User }
}

/// Every preset and every burst hint.
pub fn presets() -> &'static [Preset] {
    &PRESETS
}

/// The preset that a rule names.
pub(crate) fn named(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name && NAMES.contains(&name))
}

impl Preset {
    pub(crate) const fn rate(&self) -> Rate {
        Rate::new(self.rate.0, Span::from_secs(self.rate.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Action, Facts, Policy, RuleBook};
    use tollgate_core::{Algorithm, Burst, Limit};

    fn limit_of(name: &str) -> Limit {
        let preset = presets().iter().find(|preset| preset.name == name).unwrap();
        let policy = Policy::parse(name, preset.yaml).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        assert_eq!(policy.rules[0].name.as_ref(), name);
        match policy.rules[0].action {
            Action::Limit(Algorithm::TokenBucket(limit)) => limit,
            other => panic!("{other:?}"),
        }
    }

    fn limit(tokens: u64, seconds: u64, burst: u64) -> Limit {
        Limit::new(Rate::new(tokens, Span::from_secs(seconds)), Burst::tokens(burst)).unwrap()
    }

    #[test]
    fn presets_have_their_figures() {
        assert_eq!(limit_of("public-read"), limit(1, 1, 60));
        assert_eq!(limit_of("authenticated"), limit(10, 1, 100));
        assert_eq!(limit_of("webhook"), limit(50, 1, 500));
        assert_eq!(limit_of("password-reset"), limit(3, 1_000, 5));
    }

    #[test]
    fn an_ipv6_client_has_one_bucket_of_every_preset_and_of_scope_ip() {
        let texts = NAMES.map(|name| format!("{{name: a, preset: {name}}}"));
        let short = "{name: a, scope: ip, rate: 1/s, burst: 5}".to_owned();
        for text in texts.into_iter().chain([short]) {
            let book = RuleBook::new(Policy::parse("test", &text).unwrap());
            let key = |address: &str| {
                let facts = Facts { address: address.parse().ok(), ..Facts::new("GET", "/") };
                let mut key = Vec::new();
                book.rule_on(&facts, 0, |hit| key = hit.key.to_vec());
                key
            };
            assert_eq!(key("2001:db8::1"), key("2001:db8::dead:beef"), "{text}");
            assert_ne!(key("2001:db8::1"), key("2001:db8:0:1::1"), "{text}");
            assert_ne!(key("192.0.2.1"), key("192.0.2.2"), "{text}");
            assert_eq!(key("192.0.2.1"), key("::ffff:192.0.2.1"), "{text}");
        }
    }

    #[test]
    fn burst_hints_are_so_many_seconds_of_the_rate() {
        assert_eq!(limit_of("interactive"), limit(10, 1, 50));
        assert_eq!(limit_of("strict"), limit(10, 1, 10));
        assert_eq!(limit_of("batch"), limit(10, 1, 100));
        assert_eq!(limit_of("llm-tools"), limit(1_000, 1, 1_000));
        assert_eq!(limit_of("burst-credit"), limit(2, 1, 600));
    }

    #[test]
    fn nothing_is_to_be_said_against_a_preset() {
        for preset in presets() {
            let lints = Policy::parse(preset.name, preset.yaml).unwrap().lints();
            assert!(lints.is_empty(), "{}: {lints:?}", preset.name);
        }
    }

    #[test]
    fn a_burst_hint_gives_at_least_one_token() {
        let policy = Policy::parse("slow", "{scope: user, rate: 1/h, burst_hint: strict}").unwrap();
        let Action::Limit(algorithm) = policy.rules[0].action else { panic!() };
        assert_eq!(algorithm.full().whole(), 1);
    }
}
