//! The default size of the bucket tables, from the memory that this process may use.

use std::cmp::Ordering;
use std::fmt;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use tollgate::policy::log_entries_default;

/// Share of the memory that the tables may take, in percent.
const TABLES_PERCENT: u64 = 5;
/// Bytes of one key in all tables: that of the rules, that of rules in shadow mode, and that of limits that come with the call.
const KEY_BYTES: u64 = (2 * tollgate::KEY_BYTES + tollgate::EXPLICIT_KEY_BYTES) as u64;
/// Bytes of one entry of a sliding log, if each client has one entry: its log and its place in two tables.
const LOG_ENTRY_BYTES: u64 = 350;
/// Fewest entries of sliding logs whose number is not set.
const LOG_ENTRIES_MIN: usize = 10_000;
/// Fewest keys of a table whose size is not set.
const KEYS_MIN: usize = 100_000;
/// Most keys of a table whose size is not set.
const KEYS_MAX: usize = 10_000_000;

/// The size of the tables, and where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxKeys {
    /// Keys of each table.
    pub keys: usize,
    /// Where the number comes from.
    pub origin: MaxKeysOrigin,
}

/// Where the size of the tables comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaxKeysOrigin {
    /// The setting `max_keys`.
    Setting,
    /// The memory limit of the control group, in bytes.
    Cgroup(u64),
    /// The memory of the machine, in bytes.
    Machine(u64),
    /// The memory is not known: the fewest keys.
    Unknown,
}

impl MaxKeys {
    /// The size that was set.
    pub const fn set(keys: usize) -> MaxKeys {
        MaxKeys { keys, origin: MaxKeysOrigin::Setting }
    }

    /// As many keys as fit in 5 % of the memory that this process may use, from 100,000 to 10,000,000.
    pub fn of_memory() -> MaxKeys {
        MaxKeys::under(Path::new("/"))
    }

    /// Entries of all sliding logs by default: as the keys, but no more than fit in another 5 % of the memory, if it is known.
    pub fn log_entries(self) -> usize {
        let by_keys = log_entries_default(self.keys);
        match self.origin {
            MaxKeysOrigin::Cgroup(bytes) | MaxKeysOrigin::Machine(bytes) => {
                let by_memory = bytes / 100 * TABLES_PERCENT / LOG_ENTRY_BYTES;
                by_keys.min(usize::try_from(by_memory).unwrap_or(usize::MAX).max(LOG_ENTRIES_MIN))
            }
            MaxKeysOrigin::Setting | MaxKeysOrigin::Unknown => by_keys,
        }
    }

    /// Keys of tables that are taken over from a snapshot; none where the size is set. A snapshot fits tables of its own size alone, and
    /// a deploy may find a little more or less memory than the last one. So tables of half to twice the size, from 100,000 to
    /// 10,000,000 keys, are kept, which may take 10 % of the memory, rather than that every bucket starts full.
    pub fn adopted(self) -> RangeInclusive<usize> {
        match self.origin {
            MaxKeysOrigin::Setting => 0..=0,
            _ => (self.keys / 2).max(KEYS_MIN)..=self.keys.saturating_mul(2).min(KEYS_MAX),
        }
    }

    /// [`MaxKeys::of_memory`], with the system's files under another root.
    fn under(root: &Path) -> MaxKeys {
        let machine = machine_bytes(root);
        let cgroup = cgroup_bytes(root).filter(|limit| machine.is_none_or(|machine| *limit < machine));
        let origin = match (cgroup, machine) {
            (Some(limit), _) => MaxKeysOrigin::Cgroup(limit),
            (None, Some(machine)) => MaxKeysOrigin::Machine(machine),
            (None, None) => MaxKeysOrigin::Unknown,
        };
        MaxKeys { keys: keys_in(cgroup.or(machine).unwrap_or(0)).clamp(KEYS_MIN, KEYS_MAX), origin }
    }
}

/// The number of keys whose tables fit in 5 % of these bytes.
fn keys_in(bytes: u64) -> usize {
    usize::try_from(bytes / 100 * TABLES_PERCENT / KEY_BYTES).unwrap_or(usize::MAX)
}

/// Where the number of keys comes from, for the banner, as in `5 % of the memory limit of the cgroup, 512 MiB`.
impl fmt::Display for MaxKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (memory, bytes) = match self.origin {
            MaxKeysOrigin::Setting => return f.write_str("set by max_keys"),
            MaxKeysOrigin::Unknown => return f.write_str("minimum: memory size unknown"),
            MaxKeysOrigin::Cgroup(bytes) => ("memory limit of the cgroup", bytes),
            MaxKeysOrigin::Machine(bytes) => ("memory of the machine", bytes),
        };
        let share = format_args!("{TABLES_PERCENT} % of the {memory}, {} MiB", bytes >> 20);
        match keys_in(bytes).cmp(&self.keys) {
            Ordering::Less => write!(f, "minimum: {share}, holds fewer"),
            Ordering::Equal => write!(f, "{share}"),
            Ordering::Greater => write!(f, "maximum: {share}, would hold more"),
        }
    }
}

/// The memory of the machine.
fn machine_bytes(root: &Path) -> Option<u64> {
    let text = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1_024)
}

/// The lowest memory limit of the process's control group and the groups above it, of version 2 or 1.
fn cgroup_bytes(root: &Path) -> Option<u64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let limits = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, group) = (parts.next()?, parts.next()?, parts.next()?);
        let (mount, file) = match controllers {
            "" => ("sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => return None,
        };
        lowest_limit(&root.join(mount), group, file)
    });
    limits.min()
}

/// The lowest limit of a group and the groups above it, up to the mount. Groups that are not visible here have none: a container
/// sees its own group as the mount.
fn lowest_limit(mount: &Path, group: &str, file: &str) -> Option<u64> {
    let inside = !group.split('/').any(|part| part == "..");
    let mut folder: PathBuf =
        if inside { mount.join(group.trim_start_matches('/')) } else { mount.to_owned() };
    let mut lowest = None;
    loop {
        let limit =
            fs::read_to_string(folder.join(file)).ok().and_then(|text| text.trim().parse::<u64>().ok());
        lowest = [lowest, limit].into_iter().flatten().min();
        if folder == mount || !folder.pop() || !folder.starts_with(mount) {
            return lowest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with these files, which is removed in the end.
    struct Root(PathBuf);

    impl Root {
        fn with(name: &str, files: &[(&str, &str)]) -> Root {
            let folder = std::env::temp_dir().join(format!("tollgate-memory-{}-{name}", std::process::id()));
            for (path, text) in files {
                let path = folder.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Root(folder)
        }

        fn max_keys(&self) -> MaxKeys {
            MaxKeys::under(&self.0)
        }
    }

    impl Drop for Root {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const MACHINE: (&str, &str) = ("proc/meminfo", "MemTotal:       8388608 kB\nMemFree: 1 kB\n");
    const GIB: u64 = 1 << 30;

    /// A larger key means fewer keys by default: a change that users see.
    #[test]
    fn key_takes_98_bytes_in_all_tables() {
        assert_eq!(KEY_BYTES, 98);
    }

    #[test]
    fn machine_memory_counts_without_a_cgroup_limit() {
        let root = Root::with(
            "machine",
            &[MACHINE, ("proc/self/cgroup", "0::/a\n"), ("sys/fs/cgroup/a/memory.max", "max\n")],
        );
        let max_keys = root.max_keys();
        assert_eq!(max_keys.origin, MaxKeysOrigin::Machine(8 * GIB));
        assert_eq!(max_keys.keys as u64, 8 * GIB / 100 * 5 / KEY_BYTES);
        assert_eq!(max_keys.to_string(), "5 % of the memory of the machine, 8192 MiB");
    }

    #[test]
    fn lowest_limit_up_the_hierarchy_counts() {
        let root = Root::with(
            "v2",
            &[
                MACHINE,
                ("proc/self/cgroup", "0::/a/b\n"),
                ("sys/fs/cgroup/a/b/memory.max", "6442450944\n"),
                ("sys/fs/cgroup/a/memory.max", "1073741824\n"),
            ],
        );
        assert_eq!(root.max_keys().origin, MaxKeysOrigin::Cgroup(GIB));
        assert_eq!(root.max_keys().to_string(), "5 % of the memory limit of the cgroup, 1024 MiB");
    }

    #[test]
    fn limit_of_a_container_lies_at_the_mount() {
        let root = Root::with(
            "container",
            &[MACHINE, ("proc/self/cgroup", "0::/../../x\n"), ("sys/fs/cgroup/memory.max", "1073741824\n")],
        );
        // A group outside the container's namespace is not followed.
        assert_eq!(root.max_keys().origin, MaxKeysOrigin::Cgroup(GIB));
        let plain = Root::with(
            "mount",
            &[MACHINE, ("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/memory.max", "1073741824\n")],
        );
        assert_eq!(plain.max_keys().origin, MaxKeysOrigin::Cgroup(GIB));
    }

    #[test]
    fn version_1_limit_counts_unless_it_is_above_the_memory() {
        let with = |name, limit| {
            let file = ("sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", limit);
            Root::with(name, &[MACHINE, ("proc/self/cgroup", "5:cpu:/y\n4:memory:/docker/x\n"), file])
        };
        assert_eq!(with("v1", "1073741824\n").max_keys().origin, MaxKeysOrigin::Cgroup(GIB));
        let unlimited = with("v1-max", "9223372036854771712\n");
        assert_eq!(unlimited.max_keys().origin, MaxKeysOrigin::Machine(8 * GIB));
    }

    #[test]
    fn log_entries_fit_in_the_memory_too() {
        let entries = |name, mib: u64| {
            let meminfo = format!("MemTotal: {} kB\n", mib << 10);
            Root::with(name, &[("proc/meminfo", &meminfo)]).max_keys().log_entries() as u64
        };
        assert_eq!(entries("logs-256m", 256), (256 << 20) / 100 * 5 / LOG_ENTRY_BYTES);
        assert_eq!(entries("logs-1m", 1), LOG_ENTRIES_MIN as u64);
        assert_eq!(entries("logs-64g", 64 << 10), 1_000_000);
        assert_eq!(MaxKeys::set(2_000).log_entries(), 20_000);
    }

    #[test]
    fn tables_of_a_snapshot_take_half_to_twice_the_memory() {
        let adopted = |name, mib: u64| {
            let meminfo = format!("MemTotal: {} kB\n", mib << 10);
            let max_keys = Root::with(name, &[("proc/meminfo", &meminfo)]).max_keys();
            (max_keys.keys, max_keys.adopted())
        };
        let (keys, by_memory) = adopted("adopted", 512);
        assert_eq!(by_memory, keys / 2..=keys * 2);
        let bytes = *by_memory.end() as u64 * KEY_BYTES;
        assert!(bytes > (512 << 20) / 11 && bytes <= (512 << 20) / 10, "{bytes}");
        assert_eq!(adopted("adopted-128m", 128).1, 100_000..=200_000, "never fewer than the minimum");
        assert_eq!(adopted("adopted-64g", 64 << 10).1, 5_000_000..=10_000_000, "nor more than the maximum");
        assert!(!MaxKeys::set(2_000).adopted().contains(&2_000));
    }

    #[test]
    fn default_stays_between_its_bounds() {
        let keys = |name, kib| {
            Root::with(name, &[("proc/meminfo", &format!("MemTotal: {kib} kB\n"))]).max_keys().keys
        };
        assert_eq!(keys("small", 65_536), 100_000);
        assert_eq!(keys("large", 268_435_456), 10_000_000);
        let said = |name, kib| {
            Root::with(name, &[("proc/meminfo", &format!("MemTotal: {kib} kB\n"))]).max_keys().to_string()
        };
        assert_eq!(
            said("said-small", 65_536),
            "minimum: 5 % of the memory of the machine, 64 MiB, holds fewer"
        );
        assert_eq!(
            said("said-large", 268_435_456),
            "maximum: 5 % of the memory of the machine, 262144 MiB, would hold more"
        );
        let nothing = Root::with("nothing", &[("x", "")]).max_keys();
        assert_eq!(nothing, MaxKeys { keys: 100_000, origin: MaxKeysOrigin::Unknown });
    }
}
