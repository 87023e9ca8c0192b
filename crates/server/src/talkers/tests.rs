//! What a whole engine's doors tell of who talked.

use tollgate::{Clock, Limiter, Span};

use super::*;
use crate::door::Door;
use crate::engine::Engine;
use crate::policy_source::{PolicySource, PolicyText};

const TWO: &str = "rules: [{name: client, limit_keys: [user], rate: 1/h, burst: 10}, \
                   {name: all, scope: global, rate: 1/h, burst: 1000}]";

struct World {
    engine: Engine,
    clock: Clock,
}

impl World {
    fn of(policy: &str) -> World {
        let clock = Clock::manual(Moment::from_nanos(600_000_000_000));
        let text = PolicyText { name: "p.yaml".to_owned(), text: policy.to_owned() };
        let limiter = Limiter::builder().keys_max(4_096).explicit_keys_max(1).clock(clock.clone());
        World { engine: Engine::of(PolicySource::Embedded, text, limiter, None).unwrap(), clock }
    }

    /// So many checks of a user, noted as a door does.
    fn check(&self, user: &str, times: usize) {
        self.check_at("/", user, times);
    }

    /// The same at this path.
    fn check_at(&self, path: &str, user: &str, times: usize) {
        let facts = tollgate::policy::Facts { user: Some(user), ..tollgate::policy::Facts::new("GET", path) };
        for _ in 0..times {
            let decision = self.engine.limiter.check(&facts);
            self.engine.note_decision(Door::Http, &decision, self.clock.now());
            self.engine.limiter.answer(&decision, |answering| {
                self.engine.note_standing(&decision, answering.standing());
            });
        }
    }

    fn top(&self, rule: &str, by: Measure, limit: usize) -> Vec<(String, [u64; 3])> {
        let top = self.engine.top_talkers(rule, by, limit).unwrap();
        let sums = |it: Talker| (it.client, [it.admitted, it.denied, it.near].map(|figure| figure.at_least));
        top.into_iter().map(sums).collect()
    }
}

fn named(client: &str, figures: [u64; 3]) -> (String, [u64; 3]) {
    (client.to_owned(), figures)
}

#[test]
fn clients_are_told_by_rule_and_measure_the_first_first() {
    let world = World::of(TWO);
    world.check("ann", 25);
    world.check("bob", 12);
    world.check("cid", 3);
    let (ann, bob, cid) = ("user:ann", "user:bob", "user:cid");
    let denied = world.top("client", Measure::Denied, 9);
    // Of ten, the last leaves less than a tenth.
    assert_eq!(denied, [named(ann, [10, 15, 1]), named(bob, [10, 2, 1])]);
    let admitted = world.top("client", Measure::Admitted, 9);
    assert_eq!(admitted.iter().map(|(client, _)| &**client).collect::<Vec<_>>(), [ann, bob, cid]);
    assert_eq!(world.top("client", Measure::Near, 1), [named(ann, [10, 15, 1])]);
    // Whom another rule denied was neither admitted nor denied by this one.
    assert_eq!(world.top("all", Measure::Admitted, 9), [named("all", [23, 0, 0])]);
    assert!(world.engine.top_talkers("nobody", Measure::Denied, 9).is_none());
}

#[test]
fn a_minute_without_a_word_is_forgotten() {
    let world = World::of(TWO);
    world.check("ann", 25);
    world.clock.advance(Span::from_secs(90));
    assert_eq!(world.top("client", Measure::Denied, 9), [named("user:ann", [5, 7, 0])]);
    world.clock.advance(Span::from_secs(31));
    assert_eq!(world.top("client", Measure::Denied, 9), []);
}

#[test]
fn another_policy_keeps_the_talkers_of_rules_that_stay_and_gives_back_the_room_of_others() {
    let world = World::of(TWO);
    world.check("ann", 3);
    let talkers = &world.engine.talkers;
    let parse = |text: &str| Policy::parse("p.yaml", text).unwrap();
    let other = "rules: [{name: new, scope: ip, rate: 1/h, burst: 10}, \
                 {name: client, limit_keys: [user], rate: 1/h, burst: 10}]";
    talkers.follow_policy(&parse(other));
    assert_eq!(world.top("client", Measure::Admitted, 9), [named("user:ann", [3, 0, 0])]);
    assert!(world.engine.top_talkers("all", Measure::Admitted, 9).is_none());
    talkers.follow_policy(&parse("{name: new, scope: ip, rate: 1/h, burst: 10}"));
    assert!((0..TALKERS_MAX).all(|_| talkers.room.take()), "all room is free");
}

#[test]
fn the_loudest_are_found_among_a_flood_of_keys_and_no_figure_is_wrong() {
    let world = World::of("{name: client, limit_keys: [user], rate: 1/h, burst: 100}");
    let mut rng = fastrand::Rng::with_seed(7);
    for at in 0..12_000 {
        match at % 30 {
            0..3 => world.check("loud", 1),
            3 => world.check("next", 1),
            _ => world.check(&format!("{:x}", rng.u64(..)), 1),
        }
    }
    let top = world.engine.top_talkers("client", Measure::Denied, 2).unwrap();
    assert_eq!(top.iter().map(|it| &*it.client).collect::<Vec<_>>(), ["user:loud", "user:next"]);
    for (talker, truth) in top.iter().zip([1_100, 300]) {
        assert!(talker.denied.at_least <= truth && truth <= talker.denied.at_most, "{talker:?}");
    }
    let tracked = world.engine.top_talkers("client", Measure::Admitted, usize::MAX).unwrap();
    assert!(tracked.len() <= summary::PLACES_MAX);
}

#[test]
fn threads_note_at_the_same_time_and_what_is_missed_is_counted() {
    let world = World::of("{name: all, scope: global, rate: 1/h, burst: 1000000}");
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| world.check("ann", 2_000));
        }
    });
    let [(_, [admitted, ..])] = &world.top("all", Measure::Admitted, 9)[..] else { panic!("one client") };
    let near_none = world.top("all", Measure::Near, 9).is_empty();
    assert!(near_none && *admitted + world.engine.talkers.missed() == 8_000, "{admitted}");
}

#[test]
fn a_sheet_has_the_first_of_each_measure_once_and_no_rule_without_any() {
    let world = World::of(TWO);
    for user in 0..70 {
        world.check(&format!("{user:02}"), 1 + user % 35);
    }
    let sheet = Sheet::of(&world.engine);
    let of: Vec<&str> = sheet.rules.iter().map(|of| &*of.rule).collect();
    assert_eq!(of, ["client", "all"]);
    let mut told: Vec<&str> = sheet.rules[0].clients.iter().map(|client| &*client.name).collect();
    let mut firsts: Vec<String> = Measure::ALL
        .iter()
        .flat_map(|by| world.top("client", *by, 20).into_iter().map(|(client, _)| client))
        .collect();
    firsts.sort_unstable();
    firsts.dedup();
    told.sort_unstable();
    assert_eq!(told, firsts);
    assert!((20..=60).contains(&told.len()), "{}", told.len());
    world.clock.advance(Span::from_secs(180));
    assert_eq!(Sheet::of(&world.engine), Sheet::default());
}

#[test]
fn a_sheet_has_at_most_a_hundred_rules() {
    let rule = |at: usize| format!("{{name: r{at}, path: /{at}, limit_keys: [user], rate: 1/h, burst: 10}}");
    let rules: Vec<String> = (0..120).map(rule).collect();
    let world = World::of(&format!("rules: [{}]", rules.join(", ")));
    for at in 0..120 {
        world.check_at(&format!("/{at}"), "ann", 1);
    }
    let sheet = Sheet::of(&world.engine);
    assert_eq!((sheet.rules.len(), &*sheet.rules[99].rule), (100, "r99"));
}
