//! A limit as the script reads it, and what its answers mean.

use std::fmt::Write;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use tollgate_core::{Algorithm, Limit, Moment, Ruler, Span, StampedBalance, StampedLevel, Tokens};

use crate::limit_history::{LimitHistory, Segment, is_below};
use crate::terms::{MICROS_MAX, Terms, accept_amount};
use crate::{LimitRefused, RuleIdentity};

/// Days of the longest month, for how long a window of the calendar may last.
const MONTH_DAYS_MAX: u64 = 31;
const DAY_MICROS: u64 = 86_400_000_000;
/// Micro-tokens of a place at work.
const PLACE_MICROS: u64 = 1_000_000;

/// A limit that the server can keep, of a rule or come with the call. Cheap to clone; a batch names each once.
#[derive(Debug, Clone)]
pub struct SharedLimit(Arc<Inner>, Siblings);

/// The limits of a rule's tiers, of which this is one: the script needs them where a bucket comes from another.
type Siblings = Option<Arc<[SharedLimit]>>;

#[derive(Debug)]
struct Inner {
    /// What stands for it among the arguments.
    words: Vec<String>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// It comes with the call.
    Explicit(Limit),
    /// It is the one in force of a rule.
    Rule(Ruler),
}

/// Where the state of a bucket lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StateKind {
    /// In one value.
    Value,
    /// In a sorted set.
    SortedSet,
}

impl SharedLimit {
    /// A limit that comes with the call.
    pub fn explicit(limit: &Limit) -> Result<SharedLimit, LimitRefused> {
        let (terms, [.., burst]) = (accept_limit(limit)?, limit.terms());
        let words = ["e".to_owned(), terms.num.to_string(), terms.den.to_string(), burst.to_string()];
        Ok(SharedLimit(Arc::new(Inner { words: words.to_vec(), kind: Kind::Explicit(*limit) }), None))
    }

    /// The limit in force of a rule.
    pub(crate) fn of_rule(history: &LimitHistory) -> Result<SharedLimit, LimitRefused> {
        let head = history.segments.first().ok_or(LimitRefused::Unknown)?;
        let words = match plain_words(history, head)? {
            Some(words) => words,
            None => vec!["j".to_owned(), json(history, head, None)?],
        };
        Ok(SharedLimit(Arc::new(Inner { words, kind: Kind::Rule(head.ruler) }), None))
    }

    /// The limits in force of a rule's tiers, in their order. A client that goes from one to another takes its balance along, at most the
    /// new burst; one that has become full on a tier and was forgotten is full on the next.
    pub fn of_tiers<'h>(
        tiers: impl IntoIterator<Item = (&'h RuleIdentity, &'h LimitHistory)>,
    ) -> Result<Vec<SharedLimit>, LimitRefused> {
        let tiers = tiers.into_iter().map(|(rule, history)| {
            let head = history.segments.first().ok_or(LimitRefused::Unknown)?;
            let words = vec!["j".to_owned(), json(history, head, Some(rule))?];
            Ok(SharedLimit(Arc::new(Inner { words, kind: Kind::Rule(head.ruler) }), None))
        });
        let alone: Arc<[SharedLimit]> = tiers.collect::<Result<_, LimitRefused>>()?;
        Ok(alone.iter().map(|limit| SharedLimit(Arc::clone(&limit.0), Some(Arc::clone(&alone)))).collect())
    }

    /// The limits of all tiers of its rule, if it has tiers.
    pub(crate) fn siblings(&self) -> &[SharedLimit] {
        self.1.as_deref().unwrap_or_default()
    }

    /// Refuses what the server cannot keep exactly.
    pub(crate) fn accept(algorithm: &Algorithm) -> Result<(), LimitRefused> {
        match algorithm {
            Algorithm::TokenBucket(limit) => accept_limit(limit).map(drop),
            Algorithm::LeakyBucket(leaky) => accept_limit(&leaky.limit()).map(drop),
            Algorithm::FixedWindow(window) => {
                accept_amount(window.quota())?;
                accept_window(window.window().length())?;
                // By how much windows begin earlier than in UTC is seen in the ruler's words alone.
                let [.., early, _] = words_of(*algorithm);
                accept_window(Span::from_nanos(early.cast_signed().unsigned_abs())).map(drop)
            }
            Algorithm::SlidingCounter(counter) => accept_window(counter.window()).map(drop),
            Algorithm::SlidingLog(log) => {
                accept_amount(log.quota())?;
                accept_window(log.window()).map(drop)
            }
            Algorithm::Concurrency(places) => {
                let timeout = places.timeout();
                let half = Span::from_nanos(timeout.as_nanos() / 2);
                accept_window(half).map(drop).map_err(|_| match accept_window(timeout) {
                    Err(LimitRefused::WindowTooLong(_)) => LimitRefused::WindowTooLong(timeout),
                    _ => LimitRefused::NotWholeMicros(timeout),
                })
            }
            _ => Err(LimitRefused::Unknown),
        }
    }

    pub(crate) fn words(&self) -> &[String] {
        &self.0.words
    }

    /// Whether it came with the call.
    pub fn is_explicit(&self) -> bool {
        matches!(self.0.kind, Kind::Explicit(_))
    }

    /// What a full bucket holds.
    pub fn full(&self) -> Tokens {
        match &self.0.kind {
            Kind::Explicit(limit) => limit.burst(),
            Kind::Rule(ruler) => ruler.full(),
        }
    }

    /// Whether a check takes places, which someone must give back.
    pub fn takes_places(&self) -> bool {
        matches!(&self.0.kind, Kind::Rule(ruler) if ruler.is_of_places())
    }

    pub(crate) fn state(&self) -> StateKind {
        match &self.0.kind {
            Kind::Rule(ruler) if ruler.log().is_some() => StateKind::SortedSet,
            _ => StateKind::Value,
        }
    }

    /// Micro-tokens of one step that its algorithm counts in; costs, and what must be kept, are rounded up to it.
    pub(crate) fn step(&self) -> u64 {
        match &self.0.kind {
            Kind::Rule(ruler) => match ruler.algorithm() {
                Algorithm::SlidingCounter(_) => step_of(ruler),
                Algorithm::Concurrency(_) => PLACE_MICROS,
                _ => 1,
            },
            Kind::Explicit(_) => 1,
        }
    }

    /// How much of a leaky bucket must be free before anyone is let in, in micro-tokens.
    pub(crate) fn least(&self) -> u64 {
        match &self.0.kind {
            Kind::Rule(ruler) => match ruler.algorithm() {
                Algorithm::LeakyBucket(leaky) => leaky.least().as_micros(),
                _ => 0,
            },
            Kind::Explicit(_) => 0,
        }
    }

    /// How long after now a bucket that holds `balance` is full, if nobody spends. `ahead` microseconds from now on nothing is minted.
    /// `None` where the balance does not say.
    pub(crate) fn time_to_full(&self, balance: i64, now_micros: u64, ahead: u64) -> Option<Span> {
        let at = Moment::from_nanos((now_micros + ahead).saturating_mul(1_000));
        let waiting = Span::from_micros(ahead);
        match &self.0.kind {
            Kind::Explicit(limit) => {
                let stored = StampedBalance { micros: balance, stamp: at };
                Some(StampedLevel::new(limit, stored, at).time_to_full() + waiting)
            }
            Kind::Rule(ruler) => {
                let missing = ruler.full().as_micros().saturating_add_signed(balance.saturating_neg());
                ruler.meter().map(|meter| meter.wait_for(missing, at) + waiting)
            }
        }
    }

    /// How long whoever was admitted must wait before it leaves, if the bucket held `balance` before: no time but in a leaky bucket.
    pub(crate) fn delay(&self, balance: i64, now_micros: u64, ahead: u64) -> Span {
        match &self.0.kind {
            Kind::Rule(ruler) if ruler.is_queue() => {
                self.time_to_full(balance, now_micros, ahead).unwrap_or(Span::ZERO)
            }
            _ => Span::ZERO,
        }
    }
}

impl PartialEq for SharedLimit {
    fn eq(&self, other: &SharedLimit) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.words == other.0.words
    }
}

impl Eq for SharedLimit {}

impl Hash for SharedLimit {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.words.hash(state);
    }
}

/// Micro-tokens of one step of a sliding counter: a power of ten, which its words say.
fn step_of(ruler: &Ruler) -> u64 {
    let digits = u32::try_from(ruler.words()[13] & 0xff).unwrap_or(0);
    10_u64.pow(digits.min(18))
}

fn accept_limit(limit: &Limit) -> Result<Terms, LimitRefused> {
    let [num, den, _] = limit.terms();
    let terms = Terms::new(num, den)?;
    terms.accept_burst(limit.burst())?;
    Ok(terms)
}

/// Whole microseconds of a window.
fn accept_window(window: Span) -> Result<u64, LimitRefused> {
    let (micros, rest) = (window.as_nanos() / 1_000, window.as_nanos() % 1_000);
    if rest != 0 {
        Err(LimitRefused::NotWholeMicros(window))
    } else if micros > MICROS_MAX {
        Err(LimitRefused::WindowTooLong(window))
    } else {
        Ok(micros)
    }
}

fn words_of(algorithm: Algorithm) -> [u64; Ruler::WORDS] {
    let start = tollgate_core::Start { now: Moment::default(), offset: 0, origin: 0 };
    Ruler::new(algorithm, start).words()
}

/// The short words of a token bucket whose limit was never changed; `None` of any other.
fn plain_words(history: &LimitHistory, head: &Segment) -> Result<Option<Vec<String>>, LimitRefused> {
    let [num, den, burst, _, base, _, fraction, ..] = head.ruler.words();
    let is_plain = matches!(head.ruler.algorithm(), Algorithm::TokenBucket(_))
        && history.segments.len() == 1
        && history.forgotten.is_none()
        && fraction == 0
        && head.slow.is_none_or(|slow| slow.now == [num, den]);
    if !is_plain {
        return Ok(None);
    }
    let terms = Terms::new(num, den)?;
    let numbers = [terms.num, terms.den, burst, base / 1_000];
    Ok(Some(["b".to_owned()].into_iter().chain(numbers.map(|number| number.to_string())).collect()))
}

/// The limit in full, with those before it.
fn json(history: &LimitHistory, head: &Segment, tier: Option<&RuleIdentity>) -> Result<String, LimitRefused> {
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
