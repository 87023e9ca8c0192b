//! How nodes agree on a rule's limit, and since when it holds: one record for each rule, written by whoever declares another limit.
//!
//! A node reads the record; if the limit in force is the one it wants, that is all. Otherwise it works out the history that continues
//! the record, beginning at the server's time, and writes it if nobody else did meanwhile; else it looks again. So there is one order of
//! limits for all nodes, on the server's clock alone.
//!
//! Whoever declares last is right: in a rolling deploy the limit flips when a new node starts, and back if an old one is started again.
//! Nodes that have not read the record since go on with the limit they know, until they do. That breaks no promise: a charge credits the
//! time since the bucket's stamp, and no other charge credits that time; so while two limits are in use, a bucket admits at
//! most the larger burst, and the larger rate times the time.

use std::fmt;

use tollgate_core::Span;

use crate::limit_history::{Declared, HistoryError, LimitHistory};
use crate::reply::kind;
use crate::{Call, KeySpace, Reply, ReplyError, RuleIdentity, Script, ServerError};

/// How long a rule's record is kept after a node last read or wrote it: 90 days (45 at the least), and after a change at least twice the
/// time to full. When it is gone, the next declaration begins a new history: nothing is credited for the time before.
pub const HISTORY_LIFETIME: Span = Span::from_secs(90 * 86_400);

/// Times that a node looks again because another one was quicker, before it gives up.
const ATTEMPTS_MAX: u32 = 64;

/// A node's wish that a rule has this limit. Sans IO: send what it says, hand in what comes back.
#[derive(Debug, Clone)]
pub struct Declaration {
    rule: RuleIdentity,
    key: Vec<u8>,
    /// `None` to read only.
    declared: Option<Declared>,
    attempts: u32,
    now_micros: u64,
}

/// What to do next.
#[derive(Debug, Clone)]
pub enum DeclareStep {
    /// Send this, and hand in the reply.
    Send(Call),
    /// These are the rule's limits.
    Agreed(LimitHistory),
    /// Nobody has declared the rule; only from [`Declaration::read_only`].
    Absent,
}

/// Why a limit was not declared.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeclareError {
    /// The server did not do it.
    Server(ServerError),
    /// The limit is refused, or does not continue the one in force.
    History(HistoryError),
    /// Another rule has the same digest.
    OtherRule {
        /// Whose record it is.
        policy: String,
        /// Its name there.
        name: String,
        /// The tier, if it is one.
        tier: String,
    },
    /// Other nodes declare other limits all the time.
    Contended,
}

impl Declaration {
    /// Wants the rule to have this limit.
    pub fn new(keys: &KeySpace, rule: &RuleIdentity, declared: Declared) -> Declaration {
        Declaration { declared: Some(declared), ..Declaration::read_only(keys, rule) }
    }

    /// Wants to know which limit the rule has.
    pub fn read_only(keys: &KeySpace, rule: &RuleIdentity) -> Declaration {
        let key = keys.history(rule).as_bytes().to_vec();
        Declaration { rule: rule.clone(), key, declared: None, attempts: 0, now_micros: 0 }
    }

    /// What to send first.
    pub fn begin(&self) -> Call {
        self.call(HISTORY_LIFETIME.as_nanos() / 1_000_000, Vec::new())
    }

    /// The server's time by the last reply, in microseconds since 1970; 0 before the first.
    pub fn now_micros(&self) -> u64 {
        self.now_micros
    }

    /// What the reply means.
    pub fn next(&mut self, reply: &Reply) -> Result<DeclareStep, DeclareError> {
        let (now, record, was_written) = read(reply).map_err(DeclareError::Server)?;
        self.now_micros = now;
        let history = if record.is_empty() { None } else { Some(self.parse(&record)?) };
        let Some(declared) = &self.declared else {
            return Ok(history.map_or(DeclareStep::Absent, DeclareStep::Agreed));
        };
        let next = match &history {
            Some(history) => history.change(declared, now),
            None => LimitHistory::new(declared, now).map(Some),
        };
        match (next.map_err(DeclareError::History)?, history) {
            (None, Some(history)) => Ok(DeclareStep::Agreed(history)),
            (Some(next), _) if !was_written => {
                self.attempts += 1;
                if self.attempts > ATTEMPTS_MAX {
                    return Err(DeclareError::Contended);
                }
                let words = vec![now.to_string().into_bytes(), record, self.record(&next)];
                Ok(DeclareStep::Send(self.call(lifetime_ms(&next), words)))
            }
            // It was written, and is not what was to be written: this release does not read back what it writes.
            _ => Err(DeclareError::History(HistoryError::BadRecord)),
        }
    }

    fn call(&self, lifetime_ms: u64, words: Vec<Vec<u8>>) -> Call {
        let begin = [u64::from(crate::SCRIPT_VERSION), 0, lifetime_ms];
        let mut arguments: Vec<Vec<u8>> =
            begin.iter().map(|number| number.to_string().into_bytes()).collect();
        arguments.extend(words);
        Call { script: Script::declare(), keys: vec![self.key.clone()], arguments }
    }

    /// The record: version and lengths of the names, the names, the lines of the history.
    fn record(&self, history: &LimitHistory) -> Vec<u8> {
        let (policy, name, tier) = (self.rule.policy(), self.rule.name(), self.rule.tier_name());
        let lengths = format!("{} {} {}", policy.len(), name.len(), tier.len());
        format!("{} {lengths}\n{policy}{name}{tier}\n{}", crate::SCRIPT_VERSION, history.lines()).into_bytes()
    }

    fn parse(&self, record: &[u8]) -> Result<LimitHistory, DeclareError> {
        let bad = || DeclareError::History(HistoryError::BadRecord);
        let text = std::str::from_utf8(record).map_err(|_| bad())?;
        let (head, rest) = text.split_once('\n').ok_or_else(bad)?;
        let (version, lengths) = head.split_once(' ').unwrap_or((head, ""));
        // What follows is that version's own affair.
        match version.parse::<u32>() {
            Ok(crate::SCRIPT_VERSION) => {}
            Ok(_) => {
                let version = version.to_owned();
                return Err(DeclareError::History(HistoryError::OtherVersion { version }));
            }
            Err(_) => return Err(bad()),
        }
        let lengths: Vec<&str> = lengths.split(' ').collect();
        let [policy, name, tier] = lengths[..] else { return Err(bad()) };
        let length = |digits: &str| digits.parse::<usize>().map_err(|_| bad());
        let (policy, name, tier) = (length(policy)?, length(name)?, length(tier)?);
        let (policy, rest) = rest.split_at_checked(policy).ok_or_else(bad)?;
        let (name, rest) = rest.split_at_checked(name).ok_or_else(bad)?;
        let (tier, lines) = rest.split_at_checked(tier).ok_or_else(bad)?;
        if (policy, name, tier) != (self.rule.policy(), self.rule.name(), self.rule.tier_name()) {
            let [policy, name, tier] = [policy, name, tier].map(str::to_owned);
            return Err(DeclareError::OtherRule { policy, name, tier });
        }
        let lines = lines.strip_prefix('\n').ok_or_else(bad)?;
        LimitHistory::parse(lines).map_err(DeclareError::History)
    }
}

/// The time, the record, and whether it was written by the call.
fn read(reply: &Reply) -> Result<(u64, Vec<u8>, bool), ServerError> {
    let malformed = |problem: String| ServerError::Malformed(ReplyError::new(problem));
    match ServerError::unless(reply)? {
        Reply::List(list) => match &list[..] {
            [Reply::Integer(now), Reply::Bytes(record), Reply::Integer(was_written)] => {
                let now = u64::try_from(*now).map_err(|_| malformed(format!("{now} is no time")))?;
                Ok((now, record.clone(), *was_written == 1))
            }
            _ => Err(malformed("a time, a record and a number were expected".to_owned())),
        },
        other => Err(malformed(format!("a list was expected, {} came", kind(other)))),
    }
}

fn lifetime_ms(history: &LimitHistory) -> u64 {
    let time_to_full = history.segments.iter().filter_map(|segment| segment.ruler.meter());
    let longest = time_to_full.map(|meter| meter.limit().time_to_full().as_nanos()).max().unwrap_or(0);
    (HISTORY_LIFETIME.as_nanos() / 1_000_000).max(longest / 500_000)
}

impl fmt::Display for DeclareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(error) => error.fmt(f),
            Self::History(error) => error.fmt(f),
            Self::OtherRule { policy, name, tier } => write!(
                f,
                "`name` has the same digest as rule `{name}` (tier `{tier}`) of policy `{policy}`, whose buckets it would share; give the \
                 rule or the tier another name"
            ),
            Self::Contended => write!(
                f,
                "other nodes declare other limits of the rule all the time; let all have one policy"
            ),
        }
    }
}

impl std::error::Error for DeclareError {}
