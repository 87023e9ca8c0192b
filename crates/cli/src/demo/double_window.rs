//! The scene of the double window: a client that knows when the minute ends.
//!
//! All algorithms are set to 1,000 per minute, and the same requests are played on each. They are measured by one promise,
//! that of a bucket which holds the whole quota: the most generous reading of "1,000 per minute" that has no windows.

use tollgate::{Burst, Limit, Moment, Rate, Span};

use crate::problem::Problem;
use crate::screen::Screen;

use super::amounts;
use super::bars::{self, Bar};
use super::columns::Columns;
use super::contender::Contender;
use super::figure::{Figure, Hue, Line, Note, ONE, counted, sampled};
use super::trial::Trial;
use crate::prose::paragraph;

pub(crate) const TITLE: &str = "The double window: 1000 per minute, and a client that knows when it ends";

const QUOTA: u64 = 1_000;
const MINUTE: Span = Span::from_secs(60);
/// The burst that one would choose: a tenth of the quota at once.
const SMALL_BURST: u64 = 100;
/// The attack begins one second before the minute is full, and ends when that is a minute ago.
const BEGIN: Moment = seconds(59);
const FULL_MINUTE: Moment = seconds(60);
const SECOND_WAVE_OVER: Moment = seconds(61);
const END: Moment = seconds(119);
/// Between two requests in a wave: a whole quota in a second.
const WAVE_STEP: Span = Span::from_millis(1);
/// And afterwards: fifty per second, three times what is allowed.
const KNOCK_STEP: Span = Span::from_millis(20);
/// Where the picture begins and ends.
const SHOWN: (Moment, Moment) = (seconds(55), seconds(119));

/// What all are measured by.
fn promise() -> Result<Limit, Problem> {
    Ok(Limit::new(Rate::per_minute(QUOTA), Burst::tokens(QUOTA))?)
}

/// Every algorithm under the same attack.
fn trials() -> Result<Vec<Trial>, Problem> {
    let rate = Rate::per_minute(QUOTA);
    let waves = every(WAVE_STEP, BEGIN, SECOND_WAVE_OVER);
    let arrivals: Vec<Moment> = waves.chain(every(KNOCK_STEP, SECOND_WAVE_OVER, END)).collect();
    let contenders = [
        Contender::fixed_window(QUOTA, MINUTE)?,
        Contender::token_bucket(rate, QUOTA)?,
        Contender::sliding_counter(QUOTA, MINUTE)?,
        Contender::sliding_log(QUOTA, MINUTE)?,
        Contender::token_bucket(rate, SMALL_BURST)?.in_hue(Hue::Pink),
        Contender::leaky_bucket(rate, SMALL_BURST)?,
    ];
    contenders.into_iter().map(|contender| Ok(Trial::play(contender, &arrivals)?)).collect()
}

/// The scene in words.
pub(crate) fn page(screen: &Screen) -> Result<String, Problem> {
    let Screen { columns: width, ink } = *screen;
    let (trials, promise) = (trials()?, promise()?);
    let mut page = paragraph(
        &format!(
            "A client sends {QUOTA} requests in the last second of a minute, {QUOTA} more in the first second of the \
             next, and then 50 per second. What is let through, by algorithm:"
        ),
        width,
    );
    let mut table = Columns::new(["algorithm", "within 2 s", "in any 60 s", "over the promise"]);
    for trial in &trials {
        let over = trial.over(promise);
        table.row([
            trial.contender.full_name(),
            trial.passages.left(BEGIN, SECOND_WAVE_OVER).to_string(),
            trial.passages.most_within(MINUTE).whole().to_string(),
            if over > 0 { amounts::requests(over) } else { "kept".to_owned() },
        ]);
    }
    page += "\n";
    page += &table.draw(ink, |cell| if cell == "kept" { ink.admitted(cell) } else { ink.denied(cell) });
    page += "\n";
    page += &paragraph(
        &format!(
            "The promise: at most {QUOTA} + {} × d in every interval of d seconds, as of a bucket that holds the quota. \
             The history checker finds the interval in which most went past it.",
            amounts::short_tokens(u128::from(QUOTA * ONE), 60)
        ),
        width,
    );
    page += "\n";
    page += &ink.heading("Let through within 2 s around the full minute");
    page += "\n";
    let bars: Vec<Bar> = trials
        .iter()
        .map(|trial| Bar {
            name: trial.contender.full_name(),
            first: trial.passages.left(BEGIN, FULL_MINUTE),
            second: trial.passages.left(FULL_MINUTE, SECOND_WAVE_OVER),
        })
        .collect();
    page += &bars::draw(&bars, ["before the full minute", "after it"], screen);
    page += "\n";
    page += &paragraph(&takeaway(&trials), width);
    Ok(page)
}

/// The scene as a picture.
pub(crate) fn figure() -> Result<Figure, Problem> {
    let (trials, promise) = (trials()?, promise()?);
    let (from, to) = SHOWN;
    let takeaway = takeaway(&trials);
    let allowed = |at: Moment| promise.burst().as_micros() + promise.minted_in(at.since(BEGIN)).as_micros();
    let mut lines = vec![Line {
        name: "the promise".to_owned(),
        remark: format!("{QUOTA} at once, {QUOTA} per minute"),
        hue: Hue::Promise,
        points: sampled(BEGIN, to, allowed),
    }];
    lines.extend(trials.iter().map(|trial| Line {
        name: trial.contender.full_name(),
        remark: remark(trial, promise),
        hue: trial.contender.hue,
        points: counted(BEGIN, to, |at| trial.passages.left(BEGIN, at)),
    }));
    let notes = vec![Note { at: FULL_MINUTE, text: "full minute".to_owned() }];
    let (across, up) = ("time", "requests let through since 59 s");
    Ok(Figure { title: TITLE, takeaway, across, up, from, to, lines, notes })
}

fn remark(trial: &Trial, promise: Limit) -> String {
    let in_two = trial.passages.left(BEGIN, SECOND_WAVE_OVER);
    match trial.over(promise) {
        0 => format!("{in_two} in 2 s: kept"),
        over => format!("{in_two} in 2 s: {} too many", amounts::requests(over)),
    }
}

/// What the figures come to. Named by algorithm, so that it is of the run and not of the wish.
fn takeaway(trials: &[Trial]) -> String {
    let in_two = |name: &str| {
        let of_name = trials.iter().find(|trial| trial.contender.name == name);
        of_name.map_or(0, |trial| trial.passages.left(BEGIN, SECOND_WAVE_OVER))
    };
    format!(
        "A fixed window starts anew at the full minute: {} within two seconds. A token bucket knows no minute: its \
         burst and what two seconds refill, {}. Choose the burst for what you can take at once.",
        in_two("fixed window"),
        in_two("token bucket"),
    )
}

/// Moments at even distances, from `from` on and before `to`.
fn every(step: Span, from: Moment, to: Moment) -> impl Iterator<Item = Moment> {
    std::iter::successors(Some(from), move |at| Some(*at + step)).take_while(move |at| *at < to)
}

const fn seconds(seconds: u64) -> Moment {
    Moment::from_nanos(seconds * 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial_of(full_name: &str) -> Trial {
        let found = trials().unwrap().into_iter().find(|trial| trial.contender.full_name() == full_name);
        found.unwrap_or_else(|| panic!("no {full_name}"))
    }

    fn within_2_s(trial: &Trial) -> u64 {
        trial.passages.left(BEGIN, SECOND_WAVE_OVER)
    }

    #[test]
    fn a_fixed_window_lets_the_quota_through_twice() {
        let trial = trial_of("fixed window, 1000 per 60 s");
        assert_eq!((within_2_s(&trial), trial.passages.most_within(MINUTE).whole()), (2 * QUOTA, 2 * QUOTA));
        // 2000 in 1.999 s, of which 1000 + 1.999 / 0.06 were promised.
        assert_eq!(trial.over(promise().unwrap()), 966_683_333);
    }

    #[test]
    fn a_token_bucket_lets_through_its_burst_and_what_is_refilled() {
        for burst in [SMALL_BURST, QUOTA] {
            let trial = trial_of(&format!("token bucket, burst {burst}"));
            assert_eq!(within_2_s(&trial), burst + 2 * QUOTA / 60, "burst {burst}");
            assert!(
                (QUOTA + burst - 1..=QUOTA + burst).contains(&trial.passages.most_within(MINUTE).whole())
            );
            let own = Limit::new(Rate::per_minute(QUOTA), Burst::tokens(burst)).unwrap();
            assert_eq!(trial.over(own), 0, "not even its own promise is broken");
        }
    }

    #[test]
    fn only_the_log_keeps_to_the_quota_in_every_minute_and_the_queue_to_one_more() {
        let within = |most: u64| -> Vec<&str> {
            let kept = trials()
                .unwrap()
                .into_iter()
                .filter(|trial| trial.passages.most_within(MINUTE).whole() <= most);
            kept.map(|trial| trial.contender.name).collect()
        };
        assert_eq!(within(QUOTA), ["sliding log"]);
        assert_eq!(within(QUOTA + 1), ["sliding log", "leaky bucket"]);
    }

    #[test]
    fn all_but_the_fixed_window_keep_the_promise() {
        let promise = promise().unwrap();
        let broken: Vec<_> = trials().unwrap().into_iter().filter(|trial| trial.over(promise) > 0).collect();
        assert_eq!(broken.iter().map(|trial| trial.contender.name).collect::<Vec<_>>(), ["fixed window"]);
    }

    #[test]
    fn a_leaky_bucket_lets_out_evenly() {
        let trial = trial_of("leaky bucket, queue 100");
        assert_eq!(within_2_s(&trial), 2 * QUOTA / 60 + 1);
        let even = Limit::new(Rate::per_minute(QUOTA), Burst::tokens(1)).unwrap();
        assert_eq!(trial.over(even), 0);
    }
}
