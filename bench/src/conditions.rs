//! Under which conditions the figures came about, read from Linux's files; what is missing reads `unknown`.
//!
//! Figures of two machines, or of one machine busy and idle, are not to be compared.

use std::fmt;
use std::fs;

use crate::lockfile::version_of;

/// Load average above which other work disturbs a two-core measurement.
const LOAD_QUIET_MAX: f64 = 0.5;

/// The machine, its state and the peers.
pub(crate) struct Conditions {
    cpu: String,
    cores: usize,
    kernel: String,
    clocksource: String,
    huge_pages: String,
    load: String,
    peers: String,
}

impl Conditions {
    /// Reads them now.
    pub(crate) fn observe(peers: &[&str]) -> Self {
        let versions = peers.iter().map(|peer| format!("{peer} {}", version_of(peer).unwrap_or("unknown")));
        Self {
            cpu: cpu_model(&read("/proc/cpuinfo")),
            cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            kernel: read("/proc/sys/kernel/osrelease"),
            clocksource: read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            huge_pages: chosen(&read("/sys/kernel/mm/transparent_hugepage/enabled")),
            load: read("/proc/loadavg").split(' ').next().unwrap_or_default().to_owned(),
            peers: versions.collect::<Vec<_>>().join(", "),
        }
    }

    fn is_busy(&self) -> bool {
        self.load.parse().is_ok_and(|load: f64| load > LOAD_QUIET_MAX)
    }
}

impl fmt::Display for Conditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "machine      {} ({} cores), Linux {}", self.cpu, self.cores, self.kernel)?;
        writeln!(f, "clocksource  {}", self.clocksource)?;
        writeln!(f, "huge pages   {}", self.huge_pages)?;
        write!(f, "load         {} at the start", self.load)?;
        writeln!(f, "{}", if self.is_busy() { " (BUSY: other work disturbs these figures)" } else { "" })?;
        if self.peers.is_empty() { Ok(()) } else { writeln!(f, "peers        {}", self.peers) }
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}

/// `AMD EPYC` from `model name : AMD EPYC`.
fn cpu_model(cpuinfo: &str) -> String {
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    model.map_or_else(|| "unknown".to_owned(), |(_, name)| name.trim().to_owned())
}

/// `madvise` from `always [madvise] never`.
fn chosen(choices: &str) -> String {
    let inner = choices.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inner.map_or(choices, |(word, _)| word).to_owned()
}

#[cfg(test)]
mod tests {
    use super::{chosen, cpu_model};

    #[test]
    fn linux_files_are_read_for_the_one_word_that_matters() {
        assert_eq!(cpu_model("processor\t: 0\nmodel name\t: AMD EPYC\nstepping\t: 1"), "AMD EPYC");
        assert_eq!(cpu_model(""), "unknown");
        assert_eq!(chosen("always [madvise] never"), "madvise");
        assert_eq!(chosen("unknown"), "unknown");
    }
}
