//! What is promised of key sets at addresses, in virtual time: the server of keys is a closure.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tollgate::jwt::{Bearer, TokenFault};
use tollgate::policy::Policy;
use tollgate::{Limiter, PolicyLimiter};

use super::fetch::{FetchError, Fetched};
use super::mint::{self, NOW_S};
use super::{Standing, Tokens, lock, refresher};
use crate::metrics::{Metrics, TokenResult};

const URL: &str = "{jwks_url: \"http://127.0.0.1:9/jwks\"}";
const SECOND: Duration = Duration::from_secs(1);

/// The server of keys: what it says, how long it takes for it, and how often it was asked.
#[derive(Default)]
struct Keeper {
    says: std::sync::Mutex<Option<String>>,
    takes: std::sync::Mutex<Duration>,
    asked: AtomicUsize,
    busy: AtomicUsize,
    busiest: AtomicUsize,
}

struct World {
    tokens: Arc<Tokens>,
    limiter: PolicyLimiter,
    keeper: Arc<Keeper>,
}

fn limiter(keys: &str) -> PolicyLimiter {
    let text = format!("{{jwt: {{keys: [{keys}]}}, rules: [{{scope: user, rate: 1/s, burst: 1}}]}}");
    Limiter::from_policy(Policy::parse("test", &text).unwrap()).unwrap()
}

impl World {
    /// The keys of these sources, of which the first address is kept fresh by the keeper.
    fn with(keys: &str) -> World {
        let limiter = limiter(keys);
        let tokens = Arc::new(Tokens::new(Metrics::new().tokens.clone()));
        tokens.change(limiter.policy().jwt.as_ref()).unwrap().commit();
        let world = World { tokens, limiter, keeper: Arc::default() };
        let source = Arc::clone(&world.tokens.sources.borrow()[0]);
        let (tokens, keeper) = (Arc::clone(&world.tokens), Arc::clone(&world.keeper));
        tokio::spawn(refresher::keep_fresh(tokens, source, move || {
            let keeper = Arc::clone(&keeper);
            async move { keeper.answer().await }
        }));
        world
    }

    fn say(&self, kids: &[&str]) {
        *lock(&self.keeper.says) = Some(mint::jwks(kids));
    }

    fn read(&self, kid: &str) -> Bearer {
        let headers = vec![("Authorization".to_owned(), mint::bearer(kid))];
        self.tokens.read(&self.limiter.policy(), &headers, || NOW_S)
    }

    fn is_verified(&self, kid: &str) -> bool {
        self.read(kid).user.as_deref() == Some("ann")
    }

    fn asked(&self) -> usize {
        self.keeper.asked.load(Ordering::Relaxed)
    }

    fn counted(&self, result: TokenResult) -> u64 {
        self.tokens.counts.of(result).unwrap().get()
    }
}

impl Keeper {
    async fn answer(&self) -> Result<Fetched, FetchError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let busy = self.busy.fetch_add(1, Ordering::Relaxed) + 1;
        self.busiest.fetch_max(busy, Ordering::Relaxed);
        let takes = *lock(&self.takes);
        tokio::time::sleep(takes).await;
        self.busy.fetch_sub(1, Ordering::Relaxed);
        let says = lock(&self.says).clone();
        says.map(|text| Fetched { text, max_age: None }).ok_or(FetchError::Late)
    }
}

/// Lets so much time pass, and everything happen that happens meanwhile.
async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

#[tokio::test(start_paused = true)]
async fn without_its_keys_a_token_counts_as_none_and_as_soon_as_they_come_it_counts() {
    let world = World::with(URL);
    pass(30 * SECOND).await;
    assert_eq!(world.read("a"), Bearer::default());
    assert_eq!(world.tokens.standing(), Some(Standing::Waiting));
    assert_eq!(world.counted(TokenResult::Waiting), 1, "not as a forgery");
    world.say(&["a"]);
    pass(11 * SECOND).await;
    assert!(world.is_verified("a"));
    assert_eq!(world.tokens.standing(), Some(Standing::Ready));
    assert_eq!(world.counted(TokenResult::Verified), 1);
}

#[tokio::test(start_paused = true)]
async fn a_token_of_a_new_key_is_verified_within_ten_seconds() {
    let world = World::with(URL);
    world.say(&["old"]);
    pass(12 * SECOND).await;
    world.say(&["old", "new"]);
    assert!(!world.is_verified("new"), "nobody waits for the network");
    pass(SECOND).await;
    assert!(world.is_verified("new") && world.is_verified("old"), "the last fetch was long ago");
    assert_eq!(world.asked(), 2);

    world.say(&["newer"]);
    assert!(!world.is_verified("newer"));
    pass(8 * SECOND).await;
    assert_eq!(world.asked(), 2, "not within ten seconds of the last");
    pass(2 * SECOND).await;
    assert!(world.is_verified("newer") && !world.is_verified("old"), "a withdrawn key is gone");
}

#[tokio::test(start_paused = true)]
async fn any_number_of_unknown_names_asks_at_most_every_ten_seconds() {
    let world = World::with(URL);
    world.say(&["a"]);
    *lock(&world.keeper.takes) = 3 * SECOND;
    for number in 0..1_000 {
        assert_eq!(world.read(&format!("unknown-{number}")), Bearer::default());
        pass(SECOND / 10).await;
    }
    assert!((9..=11).contains(&world.asked()), "{} in 100 s", world.asked());
    assert_eq!(world.keeper.busiest.load(Ordering::Relaxed), 1, "one at a time");
    assert!(world.is_verified("a"));
}

#[tokio::test(start_paused = true)]
async fn one_unknown_name_asks_once_however_often_it_comes() {
    let world = World::with(URL);
    world.say(&["a"]);
    for _ in 0..1_000 {
        assert_eq!(world.read("unknown"), Bearer::default());
        pass(SECOND / 10).await;
    }
    assert_eq!(world.asked(), 2, "at the start, and for the name");
    assert!(world.counted(TokenResult::Fault(TokenFault::UnknownKey)) > 900);
}

#[tokio::test(start_paused = true)]
async fn a_forgery_by_the_name_of_a_known_key_asks_for_nothing() {
    let world = World::with(URL);
    world.say(&["a"]);
    pass(20 * SECOND).await;
    let forged = format!("{}A", mint::bearer("a").rsplit_once('.').unwrap().0) + ".AAAA";
    for value in [forged, "Bearer x.y.z".to_owned(), "Bearer eyJhbGciOiJub25lIn0.e30.".to_owned()] {
        let headers = vec![("authorization".to_owned(), value)];
        assert_eq!(world.tokens.read(&world.limiter.policy(), &headers, || NOW_S), Bearer::default());
    }
    pass(20 * SECOND).await;
    assert_eq!(world.asked(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_failed_refresh_keeps_the_keys_and_is_said() {
    let world = World::with(URL);
    world.say(&["a"]);
    pass(SECOND).await;
    for nonsense in [None, Some("{}"), Some("{\"keys\": []}"), Some("<html>"), Some("")] {
        *lock(&world.keeper.says) = nonsense.map(str::to_owned);
        pass(Duration::from_mins(6)).await;
        assert!(world.is_verified("a"), "{nonsense:?}");
        assert_eq!(world.tokens.standing(), Some(Standing::Stale));
        assert_eq!(world.tokens.figures(), (1, 1));
    }
    world.say(&["b"]);
    pass(Duration::from_mins(1)).await;
    assert_eq!(world.tokens.standing(), Some(Standing::Ready));
    assert!(world.is_verified("b") && !world.is_verified("a"));
}

#[tokio::test(start_paused = true)]
async fn a_key_without_a_name_beside_the_set_does_not_hide_that_a_name_is_unknown() {
    let scratch = std::env::temp_dir().join(format!("tollgate-tokens-{}.json", std::process::id()));
    let nameless = mint::jwks(&["file"]).replace("\"kid\":\"file\",", "");
    std::fs::write(&scratch, nameless).unwrap();
    let world = World::with(&format!("{{jwks_file: \"{}\"}}, {URL}", scratch.display()));
    std::fs::remove_file(scratch).unwrap();
    world.say(&["a"]);
    pass(20 * SECOND).await;
    world.say(&["a", "b"]);
    assert!(!world.is_verified("b"), "it was tried with the nameless key");
    pass(SECOND).await;
    assert!(world.is_verified("b"));
}

#[tokio::test(start_paused = true)]
async fn another_policy_keeps_the_sets_that_it_names_and_gives_up_the_others() {
    let world = World::with(URL);
    world.say(&["a"]);
    pass(SECOND).await;
    let source = Arc::clone(&world.tokens.sources.borrow()[0]);
    let more = format!("{URL}, {{jwks_url: \"http://127.0.0.1:9/other\"}}");
    world.tokens.change(limiter(&more).policy().jwt.as_ref()).unwrap().commit();
    assert!(world.is_verified("a"));
    assert_eq!(world.tokens.standing(), Some(Standing::Waiting), "the other has not come yet");
    assert!(Arc::ptr_eq(&source, &world.tokens.sources.borrow()[0]), "what is under way goes on");

    world.tokens.change(None).unwrap().commit();
    assert!(!world.is_verified("a"));
    assert_eq!(world.tokens.standing(), None);
    world.tokens.put(&source, &mint::jwks(&["a"])).unwrap();
    assert!(!world.is_verified("a"), "what comes too late changes nothing");
}

#[tokio::test(start_paused = true)]
async fn a_start_waits_for_the_first_answer_and_not_for_long() {
    let world = World::with(URL);
    world.say(&["a"]);
    world.tokens.first_keys().await;
    assert!(world.is_verified("a"));
    let silent = World::with(URL);
    *lock(&silent.keeper.takes) = Duration::from_hours(1);
    silent.tokens.first_keys().await;
    assert_eq!(silent.asked(), 1);
    assert_eq!(silent.tokens.standing(), Some(Standing::Waiting));
}
