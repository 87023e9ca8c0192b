//! The bound on all regexes and globs that one request may meet.

use crate::{PATTERNS_READ_BYTES_MAX, Policy};

use super::found::Found;
use super::mistakes::Mistakes;
use super::tree::Place;

/// Refuses a policy whose regexes and globs may read more than [`PATTERNS_READ_BYTES_MAX`] bytes of one request.
pub(super) fn check_worst_request(file_name: &str, text: &str, policy: &Policy) -> Result<(), Mistakes> {
    let worst = policy.worst_request();
    if worst.bytes <= PATTERNS_READ_BYTES_MAX {
        return Ok(());
    }
    let rule = |at: Option<&(usize, usize)>| {
        let rule = at.and_then(|(at, _)| policy.rules.get(*at));
        rule.map_or_else(String::new, |rule| format!("`{}` {}", rule.name, rule.place_text()))
    };
    let what = format!(
        "regexes and globs of the rules from {} to {} read up to {} bytes of one request {}; the maximum is {PATTERNS_READ_BYTES_MAX}",
        rule(worst.rules.first()),
        rule(worst.rules.last()),
        worst.bytes,
        worst.place()
    );
    let mut found = Found::default();
    let cure = "write fewer of them, begin them with `^`, or give their rules a `path`";
    found.add_to_whole(Place { start: 0, end: 0, line: 1 }, what, cure);
    Err(Mistakes::new(file_name, text, None, found))
}

#[cfg(test)]
mod tests {
    use crate::{EntryReader, Policy, Sources, Stop};

    const RULE: &str = "{name: a, scope: ip, match: {'header:x': {regex: bot}}, rate: 1/s, burst: 1}";

    #[test]
    fn reading_that_is_asked_to_stop_refuses_the_policy() {
        let stop = Stop::default();
        let sources = Sources { file: Some(("p.yaml", RULE)), stop: Some(&stop), ..Sources::default() };
        let reader = EntryReader::until(&stop);
        assert!(Policy::compose(&sources).is_ok() && reader.parse(RULE).is_ok());
        stop.request();
        for refused in [Policy::compose(&sources).unwrap_err(), reader.parse(RULE).unwrap_err()] {
            assert!(refused.to_string().contains("reading stopped"), "{refused}");
        }
    }

    #[test]
    fn entries_of_one_reader_share_the_maxima_of_a_policy() {
        let reader = EntryReader::until(&Stop::default());
        let rule = |at| {
            format!(
                "{{name: r{at}, action: block, match: {{'header:x': {{regex: 'a.{{0,{at}}}b.{{0,300}}c'}}}}}}"
            )
        };
        let refused: Vec<String> =
            (300..317).map(|at| reader.parse(&rule(at)).unwrap_err().to_string()).collect();
        assert!(refused[15].contains("needs a table of more than 262144 bytes"), "{}", refused[15]);
        assert!(refused[16].contains("take too long to compile"), "{}", refused[16]);
    }
}
