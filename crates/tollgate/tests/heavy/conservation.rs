//! Tokens are neither made nor lost: threads that hammer the same buckets are admitted exactly what those hold.

use std::thread;

use tollgate::{Breadth, Burst, Charge, Cost, Limit, Limiter, Rate, Rule};
use tollgate_sim::seeds::Rng;

/// More than there are cores.
const THREADS: u64 = 8;
/// Tokens in the bucket that everybody wants.
const BURST: u64 = 400_000;

/// Refills less than a token while a test runs.
fn slow(burst: u64) -> Limit {
    Limit::new(Rate::per_day(20), Burst::tokens(burst)).unwrap()
}

fn limiter() -> Limiter {
    Limiter::builder().keys_max(10_000).build(slow(BURST)).unwrap()
}

/// Runs `work` in every thread; what each returns.
fn in_threads<T: Send>(work: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || work(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Whole tokens that a bucket holds.
fn left(rule: &Rule, key: u64) -> u64 {
    let verdict = rule.peek(key);
    verdict.remaining().unwrap().whole() + u64::from(verdict.is_admitted())
}

#[test]
fn a_contended_key_admits_exactly_its_burst() {
    let limiter = limiter();
    let admitted: Vec<u64> = in_threads(|_| {
        let mut admitted = 0;
        while limiter.check("hot").is_admitted() {
            admitted += 1;
        }
        admitted
    });
    assert_eq!(admitted.iter().sum::<u64>(), BURST);
}

#[test]
fn a_contended_key_in_batches_admits_exactly_its_burst() {
    let limiter = limiter();
    let charges = vec![limiter.default_rule().charge("hot"); 37];
    let admitted: Vec<u64> = in_threads(|_| {
        let (mut admitted, mut verdicts) = (0, Vec::new());
        loop {
            limiter.check_each(&charges, &mut verdicts);
            let of_batch = verdicts.iter().filter(|verdict| verdict.is_admitted()).count() as u64;
            admitted += of_batch;
            if of_batch == 0 {
                return admitted;
            }
        }
    });
    assert_eq!(admitted.iter().sum::<u64>(), BURST);
}

#[test]
fn a_contended_key_among_others_admits_exactly_its_burst() {
    let limiter = limiter();
    let rule = limiter.default_rule();
    let global = limiter.shared_rule("global", slow(BURST), Breadth::Everyone).unwrap();
    let admitted: Vec<u64> = in_threads(|thread| {
        // Each thread has a client of its own, and all have the last two buckets in common.
        let charges = [rule.charge(thread), rule.charge("hot"), global.charge(())];
        (0..=BURST).take_while(|_| limiter.check_all(&charges).is_admitted()).count() as u64
    });
    assert_eq!(admitted.iter().sum::<u64>(), BURST);
    assert!(!limiter.check("hot").is_admitted());
    assert!(!global.check(()).is_admitted());
    let spent: u64 = (0..THREADS).map(|thread| BURST - left(rule, thread)).sum();
    assert_eq!(spent, BURST, "what the clients spent is what their common bucket lost");
}

/// Clients, two groups and one bucket for all, by checks of one, two and three of them and by batches.
#[test]
fn what_all_buckets_lost_is_what_was_admitted() {
    const CLIENTS: u64 = 40;
    const OPERATIONS: u64 = 250_000;
    let limiter = limiter();
    let user = limiter.rule("user", slow(15_000)).unwrap();
    let group = limiter.shared_rule("group", slow(120_000), Breadth::Group).unwrap();
    let global = limiter.shared_rule("global", slow(BURST), Breadth::Everyone).unwrap();
    // Tokens taken from users, from groups and from all, each by its own count.
    let taken = in_threads(|thread| {
        let (mut rng, mut verdicts, mut taken) = (Rng::with_seed(thread), Vec::new(), [0; 3]);
        for _ in 0..OPERATIONS {
            let (client, cost) = (rng.u64(0..CLIENTS), rng.u64(1..=2));
            let charge = |rule: &Rule, key| rule.charge_n(key, Cost::tokens(cost));
            let parts: [(usize, Charge); 3] =
                [(0, charge(&user, client)), (1, charge(&group, client % 2)), (2, charge(&global, 0))];
            let parts = &parts[rng.usize(0..3)..];
            let charges: Vec<Charge> = parts.iter().map(|(_, charge)| *charge).collect();
            if rng.u8(0..8) == 0 {
                limiter.check_each(&charges, &mut verdicts);
            } else {
                verdicts = vec![limiter.check_all(&charges); charges.len()];
            }
            for ((kind, _), verdict) in parts.iter().zip(&verdicts) {
                taken[*kind] += if verdict.is_admitted() { cost } else { 0 };
            }
        }
        taken
    });
    let taken = [0, 1, 2].map(|kind| taken.iter().map(|of_thread| of_thread[kind]).sum::<u64>());
    let lost = |rule: &Rule, keys: u64, burst| (0..keys).map(|key| burst - left(rule, key)).sum::<u64>();
    let lost = [lost(&user, CLIENTS, 15_000), lost(&group, 2, 120_000), lost(&global, 1, BURST)];
    println!("taken from users, groups and all: {taken:?}");
    assert_eq!(taken, lost);
    assert!(taken[2] > BURST / 2);
}
