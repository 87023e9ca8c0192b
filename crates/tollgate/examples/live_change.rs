//! A limit changed while it is in use: every client keeps its balance, and nobody gets a free burst.
//!
//! One call changes the limit for all keys at once, however many there are. Time is virtual here, so the figures are exact.
//!
//! `cargo run -p tollgate --example live_change`

use tollgate::{Burst, Clock, Cost, Limit, LimitError, Limiter, Moment, Rate, Span, Tokens, Verdict};

fn limit(per_second: u64, burst: u64) -> Result<Limit, LimitError> {
    Limit::new(Rate::per_second(per_second), Burst::tokens(burst))
}

/// What a client holds. A peek spends nothing; it says what one token would leave, or what there is if that is less.
fn held(limiter: &Limiter, client: &str) -> u64 {
    match limiter.peek(client) {
        Verdict::Admit { remaining, .. } => remaining.whole() + 1,
        denied => denied.remaining().map_or(0, Tokens::whole),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let clock = Clock::manual(Moment::default());
    let limiter = Limiter::builder().clock(clock.clone()).build(limit(10, 50)?)?;
    let rule = limiter.default_rule();
    let show = |when: &str| println!("{when:20} {:6} {:6}", held(&limiter, "busy"), held(&limiter, "idle"));

    println!("{:20} {:>6} {:>6}", "", "busy", "idle");
    show("10/s up to 50");
    assert!(limiter.check_n("busy", Cost::tokens(50)).is_admitted());
    show("busy spends 50");
    clock.advance(Span::from_secs(2));
    show("two seconds later");

    rule.set_limit(limit(20, 200)?)?;
    show("now 20/s up to 200"); // a larger burst is room to refill into, not tokens
    clock.advance(Span::from_secs(2));
    show("two seconds later");

    rule.set_limit(limit(1, 30)?)?;
    show("now 1/s up to 30"); // a smaller one clamps
    clock.advance(Span::from_secs(2));
    show("two seconds later");
    Ok(())
}
