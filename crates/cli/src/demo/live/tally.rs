//! What became of the requests, by kind of client.

use crate::listing::Listing;
use crate::screen::Ink;

/// How a client behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Asks evenly, and waits as it is told.
    Polite,
    /// Asks for much at once, then for nothing.
    Bursty,
    /// Asks for as much as it can, whatever it is told.
    Abusive,
}

impl Kind {
    pub(super) const ALL: [Kind; 3] = [Kind::Polite, Kind::Bursty, Kind::Abusive];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Kind::Polite => "polite",
            Kind::Bursty => "bursty",
            Kind::Abusive => "abusive",
        }
    }
}

/// What a client was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    Admitted,
    Denied,
}

/// How many requests of each kind were admitted and denied.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// In the order of [`Kind::ALL`].
    counts: [Count; 3],
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Count {
    admitted: u64,
    denied: u64,
}

impl Tally {
    /// One more.
    pub(super) fn note(&mut self, kind: Kind, told: Told) {
        let [polite, bursty, abusive] = &mut self.counts;
        let count = match kind {
            Kind::Polite => polite,
            Kind::Bursty => bursty,
            Kind::Abusive => abusive,
        };
        match told {
            Told::Admitted => count.admitted += 1,
            Told::Denied => count.denied += 1,
        }
    }

    /// What is said at the end.
    pub(super) fn summary(&self, seconds: u64, ink: Ink) -> String {
        let mut listing = Listing::new(&["CLIENTS", "ADMITTED", "DENIED", "OF WHICH DENIED"]);
        let mut sum = Count::default();
        for (kind, count) in Kind::ALL.into_iter().zip(self.counts) {
            sum.admitted += count.admitted;
            sum.denied += count.denied;
            listing.push(count.row(kind.name()).each_ref().map(String::as_str));
        }
        listing.push(sum.row("all").each_ref().map(String::as_str));
        let (minutes, seconds) = (seconds / 60, seconds % 60);
        format!("\nThe demo has ended after {minutes} min {seconds:02} s.\n\n{}", listing.text(ink))
    }
}

impl Count {
    fn row(self, name: &str) -> [String; 4] {
        let Count { admitted, denied } = self;
        let all = admitted + denied;
        let share = (denied * 100 + all / 2).checked_div(all);
        let share = share.map_or_else(|| "-".to_owned(), |percent| format!("{percent} %"));
        [name.to_owned(), admitted.to_string(), denied.to_string(), share]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_is_in_the_summary_once() {
        let mut tally = Tally::default();
        let told = [
            (Kind::Polite, Told::Admitted, 9),
            (Kind::Polite, Told::Denied, 1),
            (Kind::Abusive, Told::Denied, 4),
        ];
        for (kind, told, times) in told {
            (0..times).for_each(|_| tally.note(kind, told));
        }
        let summary = tally.summary(65, Ink::Plain);
        let lines: Vec<Vec<&str>> = summary.lines().map(|line| line.split_whitespace().collect()).collect();
        assert!(summary.contains("after 1 min 05 s"), "{summary}");
        for expected in ["polite 9 1 10 %", "bursty 0 0 -", "abusive 0 4 100 %", "all 9 5 36 %"] {
            let expected: Vec<&str> = expected.split(' ').collect();
            assert!(lines.contains(&expected), "{expected:?} is not in\n{summary}");
        }
    }
}
