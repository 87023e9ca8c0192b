//! The scene of one burst: a hundred requests at once, then twice as many as are allowed.
//!
//! All algorithms allow 10 per second in the long run and 30 at once. The lines count what leaves; a leaky bucket queues what
//! the others let through.

use tollgate::{Burst, Limit, Moment, Rate, Span};

use crate::problem::Problem;
use crate::screen::Screen;

use super::amounts;
use super::columns::Columns;
use super::contender::Contender;
use super::figure::{Figure, Line, Note, counted};
use super::panels;
use super::trial::Trial;
use crate::prose::paragraph;

pub(crate) const TITLE: &str = "One burst: 100 requests at once, then 20 per second where 10 are allowed";

const RATE_PER_SECOND: u64 = 10;
const AT_ONCE: u64 = 30;
/// In which so many are minted as may come at once.
const WINDOW: Span = Span::from_secs(3);
const BURST_REQUESTS: usize = 100;
/// Late in a window of the calendar, as bursts sometimes are.
const BURST_AT: Moment = Moment::from_nanos(2_000_000_000);
const STEADY_STEP: Span = Span::from_millis(50);
const END: Moment = Moment::from_nanos(11_000_000_000);

fn promise() -> Result<Limit, Problem> {
    Ok(Limit::new(Rate::per_second(RATE_PER_SECOND), Burst::tokens(AT_ONCE))?)
}

fn trials() -> Result<Vec<Trial>, Problem> {
    let rate = Rate::per_second(RATE_PER_SECOND);
    let steady = std::iter::successors(Some(BURST_AT + STEADY_STEP), |at| Some(*at + STEADY_STEP));
    let mut arrivals = vec![BURST_AT; BURST_REQUESTS];
    arrivals.extend(steady.take_while(|at| *at < END));
    let contenders = [
        Contender::token_bucket(rate, AT_ONCE)?,
        Contender::leaky_bucket(rate, AT_ONCE)?,
        Contender::fixed_window(AT_ONCE, WINDOW)?,
        Contender::sliding_counter(AT_ONCE, WINDOW)?,
        Contender::sliding_log(AT_ONCE, WINDOW)?,
    ];
    contenders.into_iter().map(|contender| Ok(Trial::play(contender, &arrivals)?)).collect()
}

fn after_the_burst() -> Moment {
    BURST_AT + Span::from_nanos(1)
}

/// The scene in words.
pub(crate) fn page(screen: &Screen) -> Result<String, Problem> {
    let Screen { columns, ink } = *screen;
    let (trials, promise) = (trials()?, promise()?);
    let mut page = paragraph(
        "Each algorithm allows 10 per second, and 30 at once (or 30 per 3 s, which is the same in the long run). At 2 s a \
         client sends 100 requests at once, and from then on 20 per second until 11 s:",
        columns,
    );
    let mut table = Columns::new(["algorithm", "of 100", "at once", "of the rest", "waits", "over"]);
    for trial in &trials {
        let over = trial.over(promise);
        table.row([
            trial.contender.full_name(),
            trial.passages.admitted(BURST_AT, after_the_burst()).to_string(),
            trial.passages.left(BURST_AT, after_the_burst()).to_string(),
            trial.passages.admitted(after_the_burst(), END).to_string(),
            amounts::span(trial.passages.longest_delay()),
            if over > 0 { amounts::requests(over) } else { "kept".to_owned() },
        ]);
    }
    page += "\n";
    page += &table.draw(ink, |cell| if cell == "kept" { ink.admitted(cell) } else { ink.denied(cell) });
    page += "\n";
    page += &paragraph(
        "Waits: the longest from a request to its leave. Over: how far the worst interval of d seconds went past 30 + 10 × d, \
         by the history checker.",
        columns,
    );
    page += "\n";
    page += &panels::draw(&figure()?, screen);
    page += "\n";
    page += &paragraph(TAKEAWAY, columns);
    Ok(page)
}

const TAKEAWAY: &str = "The token bucket takes the burst and then keeps to the rate. The leaky bucket takes as many, \
    and lets them out one every 100 ms. Windows go on and off: the fixed one opens again a second after the burst, \
    the log only when the burst is a whole window old.";

/// The scene as a picture.
pub(crate) fn figure() -> Result<Figure, Problem> {
    let (from, promise) = (Moment::default(), promise()?);
    let lines = trials()?.into_iter().map(|trial| Line {
        name: trial.contender.full_name(),
        remark: match (trial.over(promise), trial.passages.longest_delay()) {
            (0, Span::ZERO) => "at once, or not at all".to_owned(),
            (0, delay) => format!("waits up to {}", amounts::span(delay)),
            (over, _) => format!("{} over 30 + 10 × d", amounts::requests(over)),
        },
        hue: trial.contender.hue,
        points: counted(BURST_AT, END, |at| trial.passages.left(from, at + Span::from_nanos(1))),
    });
    Ok(Figure {
        title: TITLE,
        takeaway: TAKEAWAY.to_owned(),
        across: "time",
        up: "requests that have left",
        from,
        to: END,
        lines: lines.collect(),
        notes: vec![Note { at: BURST_AT, text: "100 at once".to_owned() }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial_of(name: &str) -> Trial {
        trials().unwrap().into_iter().find(|trial| trial.contender.name == name).unwrap()
    }

    #[test]
    fn every_algorithm_takes_as_many_of_the_burst_as_it_holds() {
        for trial in trials().unwrap() {
            let name = trial.contender.full_name();
            assert_eq!(trial.passages.admitted(BURST_AT, after_the_burst()), AT_ONCE, "{name}");
        }
    }

    #[test]
    fn a_leaky_bucket_lets_one_out_every_tenth_of_a_second() {
        let trial = trial_of("leaky bucket");
        assert_eq!(trial.passages.left(BURST_AT, after_the_burst()), 1);
        let tenth = Span::from_millis(100);
        let mut from = BURST_AT;
        while from < END {
            assert_eq!(trial.passages.left(from, from + tenth), 1, "from {} ns", from.as_nanos());
            from = from + tenth;
        }
        assert_eq!(trial.passages.longest_delay(), Span::from_millis(2_900));
    }

    #[test]
    fn a_token_bucket_goes_on_at_the_rate() {
        let trial = trial_of("token bucket");
        for second in 3..11 {
            let from = Moment::from_nanos(second * 1_000_000_000);
            assert_eq!(
                trial.passages.left(from, from + Span::from_secs(1)),
                RATE_PER_SECOND,
                "from {second} s"
            );
        }
    }

    #[test]
    fn a_fixed_window_opens_again_a_second_later_and_a_log_only_when_the_burst_is_a_window_old() {
        let first_after = |name: &str| {
            let trial = trial_of(name);
            (1..10_000).find(|millis| {
                trial
                    .passages
                    .left(after_the_burst(), BURST_AT + Span::from_millis(*millis) + Span::from_nanos(1))
                    > 0
            })
        };
        assert_eq!(first_after("fixed window"), Some(1_000));
        assert_eq!(first_after("sliding log"), Some(3_000));
    }

    #[test]
    fn only_the_fixed_window_breaks_the_promise() {
        let promise = promise().unwrap();
        let broken: Vec<_> = trials().unwrap().into_iter().filter(|trial| trial.over(promise) > 0).collect();
        assert_eq!(broken.iter().map(|trial| trial.contender.name).collect::<Vec<_>>(), ["fixed window"]);
        // 30 at 2 s, and 30 more from 3 s to 4.45 s: 60 where 54.5 are promised.
        assert_eq!(broken[0].over(promise), 5_499_999);
    }
}
