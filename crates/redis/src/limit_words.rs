//! A limit in the words of the script: short where it can be, in full where limits came before it.
//!
//! Knows nothing of what the script makes of them; `docs/redis-script.md` says what each word means.

use std::fmt::Write;

use tollgate_core::{Algorithm, Ruler};

use crate::limit_history::{LimitHistory, Segment, is_below};
use crate::shared_limit::accept_window;
use crate::terms::Terms;
use crate::{LimitRefused, RuleIdentity};

/// Days of the longest month, for how long a window of the calendar may last.
const MONTH_DAYS_MAX: u64 = 31;
const DAY_MICROS: u64 = 86_400_000_000;
/// Micro-tokens of a place at work.
pub(crate) const PLACE_MICROS: u64 = 1_000_000;

/// The short words of a token bucket of which no earlier limit matters any more; `None` of any other.
pub(crate) fn plain_words(
    history: &LimitHistory,
    head: &Segment,
    now_micros: u64,
) -> Result<Option<Vec<String>>, LimitRefused> {
    let is_bucket = matches!(head.ruler.algorithm(), Algorithm::TokenBucket(_));
    if !is_bucket || !history.is_settled(now_micros) {
        return Ok(None);
    }
    let [num, den, burst, _, base, _, fraction, ..] = head.ruler.words();
    let terms = Terms::new(num, den)?;
    let [slow_num, slow_den] = head.slow.map_or([num, den], |slow| slow.now);
    let slow = Terms::new(slow_num, slow_den)?;
    let fraction = fraction / terms.shrunk;
    let numbers = [terms.num, terms.den, burst, base / 1_000, fraction, slow.num, slow.den];
    Ok(Some(["b".to_owned()].into_iter().chain(numbers.map(|number| number.to_string())).collect()))
}

/// The limit in full, with those before it.
pub(crate) fn json(
    history: &LimitHistory,
    head: &Segment,
    tier: Option<&RuleIdentity>,
) -> Result<String, LimitRefused> {
    let words = head.ruler.words();
    let [a, b, d] = [words[11], words[12], words[14]];
    let mut text = String::from("{");
    match head.ruler.algorithm() {
        Algorithm::TokenBucket(_) => text.push_str("\"k\":\"t\","),
        Algorithm::LeakyBucket(leaky) => {
            let _ = write!(text, "\"k\":\"q\",\"least\":{},", leaky.least().as_micros());
        }
        Algorithm::FixedWindow(_) => text.push_str("\"k\":\"w\","),
        Algorithm::SlidingCounter(counter) => {
            let step = step_of(&head.ruler);
            let (full, early) = (head.ruler.full().as_micros(), d / 1_000);
            let window = accept_window(counter.window())?;
            return Ok(format!(
                "{{\"k\":\"n\",\"burst\":{full},\"step\":{step},\"span\":{window},\"early\":{early}}}"
            ));
        }
        Algorithm::SlidingLog(log) => {
            let window = accept_window(log.window())?;
            return Ok(format!("{{\"k\":\"l\",\"burst\":{a},\"step\":1,\"span\":{window}}}"));
        }
        Algorithm::Concurrency(_) => {
            let (full, generation, early) = (head.ruler.full().as_micros(), b / 1_000, d / 1_000);
            return Ok(format!(
                "{{\"k\":\"p\",\"burst\":{full},\"step\":{PLACE_MICROS},\"span\":{generation},\"early\":{early}}}"
            ));
        }
        _ => return Err(LimitRefused::Unknown),
    }
    if let Some(tier) = tier {
        let _ = write!(text, "\"fam\":\"{}\",\"tag\":{},", tier.digest(), tier.tag());
    }
    push_segment(&mut text, head)?;
    let _ = write!(text, ",\"head\":{}", words[8]);
    if let Some(slow) = head.slow {
        let slow = Terms::new(slow.now[0], slow.now[1])?;
        let _ = write!(text, ",\"slow\":[{},{}]", slow.num, slow.den);
    }
    push_past(&mut text, history)?;
    text.push('}');
    Ok(text)
}

/// When it begins, and what it mints.
fn push_segment(text: &mut String, segment: &Segment) -> Result<(), LimitRefused> {
    let words = segment.ruler.words();
    let [num, den, burst, _, base, _, fraction, ..] = words;
    let _ = write!(text, "\"from\":{},\"burst\":{burst}", base / 1_000);
    if let Algorithm::FixedWindow(_) = segment.ruler.algorithm() {
        let (unit, length, early) = (words[11], words[12], words[13].cast_signed());
        let (length, longest) = match unit {
            0 => (length / 1_000, length / 1_000),
            _ => (length, length * MONTH_DAYS_MAX * DAY_MICROS),
        };
        let unit = if unit == 0 { "micros" } else { "months" };
        let _ = write!(
            text,
            ",\"window\":{{\"{unit}\":{length},\"early\":{}}},\"longest\":{longest}",
            early / 1_000
        );
        return Ok(());
    }
    let terms = Terms::new(num, den)?;
    let fraction = fraction / terms.shrunk;
    let _ = write!(text, ",\"num\":{},\"den\":{},\"frac\":{fraction}", terms.num, terms.den);
    Ok(())
}

/// The limits before the one in force, and what a bucket that is gone may have lacked.
fn push_past(text: &mut String, history: &LimitHistory) -> Result<(), LimitRefused> {
    let Some((_, past)) = history.segments.split_first().filter(|(_, past)| !past.is_empty()) else {
        return Ok(());
    };
    text.push_str(",\"past\":[");
    for (index, segment) in past.iter().enumerate() {
        text.push_str(if index == 0 { "{" } else { ",{" });
        push_segment(text, segment)?;
        text.push('}');
    }
    text.push(']');
    let mut gone = Vec::new();
    for (index, newer) in history.segments.iter().enumerate() {
        let older = match (history.segments.get(index + 1), history.forgotten) {
            (Some(older), _) => older.slow.map(|slow| (older.ruler.words()[2], slow.fastest)),
            (None, Some(forgotten)) => Some((forgotten.burst, forgotten.fastest_kept)),
            (None, None) => None,
        };
        let rates = history.segments[..=index].iter().map(|segment| {
            let [num, den, ..] = segment.ruler.words();
            [num, den]
        });
        // A key that was kept by a rate which none since has been below was full when it went.
        if let Some((burst, fastest)) =
            older.filter(|(_, fastest)| rates.clone().any(|rate| is_below(rate, *fastest)))
        {
            let fastest = Terms::new(fastest[0], fastest[1])?;
            gone.push(format!("[{},{burst},{},{}]", newer.base_micros(), fastest.num, fastest.den));
        }
    }
    if !gone.is_empty() {
        let _ = write!(text, ",\"gone\":[{}]", gone.join(","));
    }
    let has_rate = !matches!(history.algorithm(), Some(Algorithm::FixedWindow(_)));
    if let Some(forgotten) = history.forgotten.filter(|_| has_rate) {
        let lowest = Terms::new(forgotten.lowest[0], forgotten.lowest[1])?;
        let _ = write!(text, ",\"low\":[{},{},{}]", lowest.num, lowest.den, forgotten.burst);
    }
    Ok(())
}

/// Micro-tokens of one step of a sliding counter: a power of ten, which its words say.
pub(crate) fn step_of(ruler: &Ruler) -> u64 {
    let digits = u32::try_from(ruler.words()[13] & 0xff).unwrap_or(0);
    10_u64.pow(digits.min(18))
}
