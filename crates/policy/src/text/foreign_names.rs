//! What other limiters call things, and what we call them.

use super::did_you_mean::flat;

/// What becomes of requests while the store is down; said by rules, and looked for everywhere.
#[rustfmt::skip]
const FAILURES: [&str; 20] = ["failopen", "failclosed", "failclose", "failmode", "failuremode", "failuremodedeny", "failuremodeallow", "onfailure", "onerror", "onstoreerror", "onrediserror", "onredisfailure", "storefailure", "failurepolicy", "passonstoreerror", "skiponerror", "allowonerror", "faulttolerant", "fallback", "fallbackmode"];

/// Their names, without capitals, dashes and underscores; the field of ours that must be known for the answer to make
/// sense; and the answer.
#[rustfmt::skip]
const NAMES: [(&[&str], &str, &str); 39] = [
    (&["capacity", "burstcapacity", "burstsize", "maxburst", "bucketsize", "bucketcapacity", "maxtokens", "size", "maxbucketsize", "bucket"],
        "burst", "write `burst`: how many tokens a full bucket holds"),
    (&["refillrate", "ratepersecond", "replenishrate", "fillrate", "requestspersecond", "persecond", "qps", "tps", "tokenspersec", "leakrate", "average", "speed", "refill", "tokensperfill", "refilltokens"],
        "rate", "write `rate`: tokens per second, or with a unit as in `rate: 600/m`"),
    (&["requestsperunit", "requests", "limit", "max", "maxrequests", "points", "count", "calls", "maxcalls", "ratelimit", "threshold"],
        "rate", "write `rate: 10/s` and `burst: 50`; or, for a count per window, `algorithm: sliding_window` with `quota` and `window`"),
    (&["windowms", "windowseconds", "windowsize", "interval", "period", "duration", "ttl", "per", "unit", "timeunit", "timewindow", "windowlength", "seconds", "fillinterval", "refillinterval", "periodseconds", "maxvalue"],
        "rate", "write the time into the rate, as in `rate: 100/15m`; or, for a count per window, `window: 15m`"),
    (&["second", "minute", "hour", "day", "perminute", "perhour", "perday", "requestsperminute", "rpm", "rph", "rpd", "requestsperhour", "requestsperday"],
        "rate", "write `rate` with its unit: `10/s`, `600/m`, `5/h` or `1/d`"),
    (&["key", "keys", "keyby", "groupby", "by", "limitby", "identifier", "identifiers", "keygenerator", "keyresolver", "descriptors", "limitkey", "source", "sourcecriterion", "characteristics", "variables"],
        "limit_keys", "write `limit_keys`, as in `limit_keys: [user]` or `limit_keys: [ip:prefix]`"),
    (&["condition", "conditions", "when", "if", "filter", "matches", "selector", "where", "matchers", "matcher"],
        "match", "write `match`, as in `match: {path: /api/*}`"),
    (&["type", "strategy", "algo", "kind", "limittype"],
        "algorithm", "write `algorithm`; it is `token_bucket` unless told otherwise"),
    (&["config", "settings", "parameters", "params", "options"],
        "algorithm_config", "write the fields into the rule itself, or into `algorithm_config`"),
    (&["dryrun", "shadowmode", "shadow", "reportonly", "logonly", "monitor", "simulate", "audit"],
        "mode", "write `mode: shadow`"),
    (&["enabled", "disabled", "active", "isactive", "enable", "disable"],
        "mode", "write `mode: off` to switch a rule off, and nothing to have it on"),
    (&["allow", "skip", "allowlist", "whitelist", "exempt", "bypass", "skiplist"],
        "action", "write `action: allow`, with a `match` that says for whom"),
    (&["deny", "block", "blocklist", "blacklist", "ban", "denylist", "reject"],
        "action", "write `action: block`, with a `match` that says for whom"),
    (&["cost", "weight", "hits", "hitsaddend", "quantity", "requestedtokens", "tokens", "pointstoconsume"],
        "fixed_cost", "write `fixed_cost`; or `cost_source: header:<name>` to read it from the request"),
    (&["costheader", "costfrom", "costs"],
        "cost_source", "write `cost_source`, as in `cost_source: header:x-cost`"),
    (&["tier", "subscription", "plans", "package"],
        "plan", "write `plan`"),
    (&["url", "uri", "route", "endpoint", "paths", "pathprefix", "prefix", "pattern", "resource", "location"],
        "path", "write `path`, as in `path: /api/*`"),
    (&["methods", "verb", "verbs", "httpmethod", "httpmethods"],
        "method", "write `method`, as in `method: [POST, PUT]`"),
    (&["hosts", "hostname", "domain", "servername", "authority"],
        "host", "write `host`, as in `host: api.example.com`"),
    (&["maxconcurrent", "concurrency", "inflight", "connections", "maxinflight", "maxconnections", "concurrent", "permits"],
        "places", "write `algorithm: concurrency` with `places` and `timeout`"),
    (&["delay", "nodelay", "queuesize", "maxqueue", "backlog"],
        "queue", "write `algorithm: leaky_bucket` with `rate` and `queue`; only that one makes requests wait"),
    (&["percent", "percentage", "rollout", "samplerate", "enforcementpercent", "fraction"],
        "rollout_percent", "write `rollout_percent: 25`"),
    (&["id", "rulename", "title", "ruleid", "zone"],
        "name", "write `name`"),
    (&["errormessage", "text", "responsemessage", "body", "errormsg"],
        "message", "write `message`"),
    (&["missingkey", "onmissing", "ifmissing", "anonymous", "emptykey"],
        "missing", "write `missing: anonymous`, `missing: skip` or `missing: deny`"),
    (&["level", "appliesto", "target", "tenant"],
        "scope", "write `scope: user`, `ip`, `network`, `organisation`, `endpoint` or `global`"),
    (&["limits", "policies", "ruleset", "ratelimits", "rule"],
        "rules", "write `rules`, a list of rules"),
    (&["groups", "tiers"],
        "rules", "write the group into `rules`, as in `- {group: tiers, combine: first, rules: […]}`"),
    (&["killswitch", "killswitches", "maintenance"],
        "kill_switches", "write `kill_switches`, a list"),
    (&["trustedproxies", "trustproxy", "proxies", "xforwardedfor", "realip", "ipstrategy"],
        "client_address", "write `client_address: {trusted_proxies: […], header: x-forwarded-for}`"),
    (&["headers", "response", "responses", "standardheaders", "legacyheaders"],
        "answers", "write `answers: {headers: draft}`"),
    (&FAILURES,
        "on_store_failure", "write `on_store_failure: open`, `on_store_failure: closed` or `on_store_failure: local`"),
    (&FAILURES,
        "store", "write `on_store_failure` into the rules that it is meant for"),
    (&FAILURES,
        "local_start", "write `on_store_failure` into the rules that it is meant for"),
    (&["lease", "leased", "leases", "syncrate", "sync", "synchronous", "consistencylevel", "localcache", "batching", "behavior"],
        "consistency", "write `consistency: exact` or `consistency: leased`"),
    (&["redis", "redisurl", "valkey", "storage", "storageurl", "backend", "storeurl", "storesettings"],
        "store", "write `store`, as in `store: {instances_max: 8}`; where the store is, is said where the program starts"),
    (&["instances", "maxinstances", "instancecount", "nodes", "nodesmax", "maxnodes", "replicas", "nodecount"],
        "instances_max", "write `instances_max`: the most instances that ever run at a time"),
    (&["url", "uri", "address", "addresses", "addr", "hosts", "endpoint", "endpoints", "port", "password", "username", "tls"],
        "hash_tag", "delete it; where the store is, is said where the program starts, not in a policy"),
    (&["<<"], "", "write the fields out; merge keys are not read in a policy"),
];

/// The answer to a name that is not ours, where a field like it exists.
pub(super) fn ours(typed: &str, known: &[&str]) -> Option<&'static str> {
    let theirs: String = if typed == "<<" { typed.to_owned() } else { flat(typed).into_iter().collect() };
    let answer = NAMES.iter().find(|(names, field, _)| {
        names.contains(&theirs.as_str()) && (field.is_empty() || known.contains(field))
    });
    answer.map(|(_, _, cure)| *cure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_limiters_are_answered_with_ours() {
        let known = ["rate", "burst"];
        for (theirs, ours_begins) in [
            ("capacity", "write `burst`"),
            ("burst_capacity", "write `burst`"),
            ("refillRate", "write `rate`"),
            ("rate_per_second", "write `rate`"),
            ("limit", "write `rate: 10/s`"),
            ("windowMs", "write the time into the rate"),
            ("requests_per_unit", "write `rate: 10/s`"),
        ] {
            assert!(ours(theirs, &known).unwrap().starts_with(ours_begins), "{theirs}");
        }
    }

    #[test]
    fn ways_to_fail_are_answered_with_ours_wherever_they_stand() {
        for theirs in
            ["fail_open", "failClosed", "fail-mode", "failure_mode", "failure_mode_deny", "fallback"]
        {
            for known in
                [&["rate", "on_store_failure"][..], &["rules", "store"], &["deadline", "local_start"]]
            {
                assert!(ours(theirs, known).unwrap().starts_with("write `on_store_failure"), "{theirs}");
            }
            assert_eq!(ours(theirs, &["rate", "burst"]), None, "{theirs}");
        }
    }

    #[test]
    fn no_name_of_theirs_is_one_of_ours() {
        let fields = super::super::rule::FIELDS.iter().chain(&super::super::limit::FIELDS);
        for field in fields {
            let field: String = flat(field).into_iter().collect();
            let clash = NAMES.iter().find(|(names, ..)| names.contains(&field.as_str()));
            assert!(clash.is_none(), "{field} is ours");
        }
    }
}
