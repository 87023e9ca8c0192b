//! What became of a run of the suite.

use std::fmt;

use super::stage::Mismatch;

/// What became of one scenario or history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// As promised.
    Kept,
    /// Otherwise than promised.
    Broken(Mismatch),
    /// Not run: the store has a clock of its own.
    Skipped,
}

/// How many broken or skipped promises a report shows; usually they have one cause.
const SHOWN_MAX: usize = 20;

/// What became of all of them.
#[derive(Debug, Clone, Default)]
pub struct Report {
    verdicts: Vec<(String, Verdict)>,
}

impl Report {
    pub(super) fn add(&mut self, name: String, verdict: Verdict) {
        self.verdicts.push((name, verdict));
    }

    /// Whether the store is one. A store that was asked nothing is not.
    pub fn conforms(&self) -> bool {
        self.count(|verdict| *verdict == Verdict::Kept) > 0
            && self.count(|verdict| matches!(verdict, Verdict::Broken(_))) == 0
    }

    /// How many scenarios and histories were not run.
    pub fn skipped(&self) -> usize {
        self.count(|verdict| *verdict == Verdict::Skipped)
    }

    fn count(&self, wanted: impl Fn(&Verdict) -> bool) -> usize {
        self.verdicts.iter().filter(|(_, verdict)| wanted(verdict)).count()
    }
}

/// The first broken promises with the step and both outcomes, or skipped ones, and a count of all.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = self.count(|verdict| *verdict == Verdict::Kept);
        let others = self.verdicts.iter().filter(|(_, verdict)| *verdict != Verdict::Kept);
        for (name, verdict) in others.take(SHOWN_MAX) {
            match verdict {
                Verdict::Broken(mismatch) => writeln!(f, "{name}: {mismatch}")?,
                Verdict::Kept | Verdict::Skipped => {
                    writeln!(f, "{name}: skipped, the store has a clock of its own")?;
                }
            }
        }
        let skipped = self.skipped();
        write!(f, "{kept} kept, {} broken, {skipped} skipped", self.verdicts.len() - kept - skipped)
    }
}
