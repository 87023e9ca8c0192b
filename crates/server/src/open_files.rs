//! How many sockets the system lets us have open, and how the doors share them.
//!
//! Promises that a door which is full says so: the system never runs out of sockets before the doors do, and health is answered
//! whatever the other doors hold. It does not know who connects.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::door::Door;

/// Files that are no connections: the doors themselves, policies, snapshots, key sets, spans, and what the runtime needs.
const RESERVE_FILES: u64 = 64;
/// Connections of a door that are told at a time why they are turned away; more are turned away in silence.
const SHEDDING_MAX: u64 = 256;
/// The same where the system gives us few sockets.
const SHEDDING_FEW: u64 = 8;
/// Connections of a door for health and metrics where the system gives us few sockets.
const HEALTH_CONNECTIONS_FEW: u64 = 32;

/// What one door may have open at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    /// Connections that are served.
    pub(crate) connections: usize,
    /// Connections that are told why they are not.
    pub(crate) shedding: usize,
}

/// The shares of all doors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shares {
    serving: Share,
    health: Share,
}

impl Shares {
    /// Asks the system for as many sockets as these doors may need, and shares out what it gives. Says so if a door that strangers
    /// may fill has not even half of what it may have.
    pub(crate) fn of_system(max_connections: usize, doors: &[Door]) -> Shares {
        let limit = raised(needed(max_connections, doors));
        let shares = Shares::of(limit, max_connections, doors);
        if doors.iter().any(|door| is_serving(*door)) && shares.serving.connections < max_connections / 2 {
            tracing::warn!(
                "the system lets us have {limit} files open, too few for max_connections {max_connections} of {} doors: http and resp \
                 take {} connections each, admin and metrics {}; raise the limit (ulimit -n, LimitNOFILE=, --ulimit nofile) to {}, or \
                 lower --max-connections",
                doors.len(),
                shares.serving.connections,
                shares.health.connections,
                needed(max_connections, doors)
            );
        }
        shares
    }

    /// What `limit` files are enough for.
    fn of(limit: u64, max_connections: usize, doors: &[Door]) -> Shares {
        let most = max_connections as u64;
        let count = (doors.len() as u64).max(1);
        let free = limit.saturating_sub(RESERVE_FILES);
        let spare = free.saturating_sub(most.saturating_mul(count)) / count;
        if spare >= SHEDDING_FEW {
            let all = Share::new(most, spare.min(SHEDDING_MAX));
            return Shares { serving: all, health: all };
        }
        let health = Share::new(most.min(HEALTH_CONNECTIONS_FEW), SHEDDING_FEW);
        let serving_doors = doors.iter().filter(|door| is_serving(**door)).count() as u64;
        let health_files = (count - serving_doors.min(count)) * health.files();
        let each = free.saturating_sub(health_files) / serving_doors.max(1);
        let shedding = (each / 8).clamp(1, SHEDDING_MAX);
        Shares { serving: Share::new(each.saturating_sub(shedding).min(most), shedding), health }
    }

    pub(crate) fn of_door(&self, door: Door) -> Share {
        if is_serving(door) { self.serving } else { self.health }
    }
}

impl Share {
    /// At least one of each: a door that takes nobody could as well be off.
    fn new(connections: u64, shedding: u64) -> Share {
        let whole = |count: u64| usize::try_from(count.max(1)).unwrap_or(usize::MAX);
        Share { connections: whole(connections), shedding: whole(shedding) }
    }

    fn files(self) -> u64 {
        (self.connections as u64).saturating_add(self.shedding as u64)
    }
}

/// Whether checks come through it: what strangers may fill.
const fn is_serving(door: Door) -> bool {
    matches!(door, Door::Http | Door::Resp)
}

/// Files that are enough for everything.
fn needed(max_connections: usize, doors: &[Door]) -> u64 {
    let each = (max_connections as u64).saturating_add(SHEDDING_MAX);
    each.saturating_mul(doors.len() as u64).saturating_add(RESERVE_FILES)
}

/// Files that we may have open, after asking for `wanted`. Nobody but root may have more than the hard limit.
fn raised(wanted: u64) -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let Some(soft) = current else { return u64::MAX };
    let target = maximum.map_or(wanted, |hard| wanted.min(hard));
    if target <= soft {
        return soft;
    }
    match setrlimit(Resource::Nofile, Rlimit { current: Some(target), maximum }) {
        Ok(()) => target,
        Err(_) => soft,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: [Door; 3] = [Door::Http, Door::Resp, Door::Admin];

    #[test]
    fn where_there_are_enough_files_every_door_has_what_it_may_have() {
        let limit = needed(10_000, &USUAL);
        assert_eq!(limit, 3 * 10_256 + 64);
        let all = Share { connections: 10_000, shedding: 256 };
        assert_eq!(Shares::of(limit, 10_000, &USUAL), Shares { serving: all, health: all });
        assert_eq!(Shares::of(u64::MAX, 10_000, &USUAL), Shares { serving: all, health: all });
    }

    #[test]
    fn fewer_are_told_why_before_fewer_are_served() {
        let shares = Shares::of(64 + 3 * (50 + 10), 50, &USUAL);
        let all = Share { connections: 50, shedding: 10 };
        assert_eq!(shares, Shares { serving: all, health: all });
    }

    #[test]
    fn where_there_are_few_files_the_doors_fit_into_them_and_health_keeps_its_share() {
        let shares = Shares::of(256, 10_000, &USUAL);
        assert_eq!(shares.of_door(Door::Admin), Share { connections: 32, shedding: 8 });
        assert_eq!(shares.of_door(Door::Http), Share { connections: 67, shedding: 9 });
        assert_eq!(shares.of_door(Door::Resp), shares.of_door(Door::Http));
    }

    #[test]
    fn all_doors_together_never_need_more_files_than_there_are() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..10_000 {
            let limit = random.u64(200..100_000);
            let max_connections = random.usize(1..20_000);
            let doors: Vec<Door> = Door::ALL.into_iter().filter(|_| random.bool()).collect();
            let shares = Shares::of(limit, max_connections, &doors);
            let files: u64 = doors.iter().map(|door| shares.of_door(*door).files()).sum();
            assert!(files + RESERVE_FILES <= limit, "{shares:?} of {limit}, {max_connections} at {doors:?}");
            assert!(doors.iter().all(|door| shares.of_door(*door).connections <= max_connections));
        }
    }

    #[test]
    fn no_number_is_too_small_or_too_large() {
        for limit in [0, 1, 64, u64::MAX] {
            for max_connections in [1, usize::MAX] {
                for doors in [&USUAL[..], &Door::ALL, &[Door::Http], &[Door::Admin], &[]] {
                    let shares = Shares::of(limit, max_connections, doors);
                    let least = Door::ALL.map(|door| shares.of_door(door).connections.min(1));
                    assert_eq!(least, [1; 4], "{limit} {max_connections} {doors:?}");
                }
            }
        }
    }
}
