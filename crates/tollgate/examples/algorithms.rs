//! Every algorithm in a few lines; docs/algorithms.md shows these functions and says which to choose.
//!
//! `cargo run -p tollgate --example algorithms`

use tollgate::{
    Burst, Clock, Concurrency, Cost, FixedWindow, LeakyBucket, Limit, Limiter, Moment, Rate, Rule,
    SlidingCounter, SlidingLog, Span, Verdict, Window,
};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn token_bucket(limiter: &Limiter) -> Result<Rule> {
    // Ten per second in the long run, fifty at once.
    let limit = Limit::new(Rate::per_second(10), Burst::tokens(50))?;
    Ok(limiter.rule("api", limit)?)
}

fn burst_credit(limiter: &Limiter) -> Result<Rule> {
    // Ten per second, and whoever was idle may spend up to five minutes' worth at once.
    let limit = Limit::with_credit(Rate::per_second(10), Span::from_secs(300))?;
    Ok(limiter.rule("batch jobs", limit)?)
}

fn leaky_bucket(limiter: &Limiter) -> Result<Rule> {
    // One every 100 ms, at most thirty on their way, and nobody waits longer than two seconds.
    let limit = LeakyBucket::new(Rate::per_second(10), Burst::tokens(30))?.max_wait(Span::from_secs(2));
    Ok(limiter.rule("calls to the payment provider", limit)?)
}

fn sliding_counter(limiter: &Limiter) -> Result<Rule> {
    // About a thousand in every minute, whenever it begins.
    let limit = SlidingCounter::new(Burst::tokens(1_000), Span::from_secs(60))?;
    Ok(limiter.rule("search", limit)?)
}

fn sliding_log(limiter: &Limiter) -> Result<Rule> {
    // Five in every hour, exactly; each is remembered for that hour.
    let limit = SlidingLog::new(Burst::tokens(5), Span::from_secs(3_600))?;
    Ok(limiter.rule("wrong passwords", limit)?)
}

fn fixed_window(limiter: &Limiter) -> Result<Rule> {
    // Ten thousand from the first of each month to the first of the next, by the clock of Berlin's winter.
    let window = Window::MONTH.ahead_of_utc(Span::from_secs(3_600));
    Ok(limiter.rule("plan", FixedWindow::new(Burst::tokens(10_000), window)?)?)
}

fn concurrency(limiter: &Limiter) -> Result<Rule> {
    // Two reports at a time; the place of a worker that died is free again after a minute, or half a minute more.
    let limit = Concurrency::new(2, Span::from_secs(60))?;
    Ok(limiter.rule("reports", limit)?)
}

fn send(payments: &Rule, client: &str) -> Option<Span> {
    match payments.check(client) {
        // It is paid for: wait that long, then go ahead without asking again.
        Verdict::Admit { delay, .. } => Some(delay),
        _ => None,
    }
}

fn main() -> Result<()> {
    let clock = Clock::manual(Moment::default());
    let limit = Limit::new(Rate::per_second(1), Burst::tokens(1))?;
    let limiter = Limiter::builder().clock(clock).build(limit)?;

    for rule in [
        token_bucket(&limiter)?,
        burst_credit(&limiter)?,
        sliding_counter(&limiter)?,
        sliding_log(&limiter)?,
        fixed_window(&limiter)?,
    ] {
        let all = Cost::micros(rule.limit().full().as_micros());
        println!("{:<31} {}, then {}", rule.name(), rule.check_n("ann", all), rule.check("ann"));
    }

    let payments = leaky_bucket(&limiter)?;
    let delays: Vec<_> =
        (0..4).filter_map(|_| send(&payments, "ann")).map(|delay| delay.to_string()).collect();
    println!("{:<31} leave after {}", payments.name(), delays.join(", "));

    let reports = concurrency(&limiter)?;
    let (first, second) = (reports.enter("ann"), reports.enter("ann"));
    println!("{:<31} two at work: {}", reports.name(), first.is_ok() && second.is_ok());
    println!("{:<31} a third: {}", "", reports.enter("ann").is_ok());
    drop(first);
    println!("{:<31} once one has left: {}", "", reports.enter("ann").is_ok());
    Ok(())
}
