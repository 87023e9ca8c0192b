//! What the operations of a batch are told: the numbers of the reply, dealt out in their order.

use tollgate_core::{Answer, Span, Tokens};

use crate::checked::{BucketTold, Checked, Numbers, Outcome};
use crate::item::{Item, Wanted};
use crate::reply::Integers;
use crate::run::{Run, runs};
use crate::told::{Changed, KeyFault, Told};
use crate::{Batch, Reply, ReplyError, ServerError};

/// The status of a check that was admitted and of which only balances are told: nothing else is other than 0.
const PLAINLY_ADMITTED: i64 = 5;

impl Batch {
    /// What each operation is told, in order.
    pub fn read(&self, reply: &Reply) -> Result<Vec<Told>, ServerError> {
        let mut numbers = Integers::of(ServerError::unless(reply)?)?;
        let now = numbers.next_amount()?;
        let mut told = Vec::with_capacity(self.items.len());
        for run in runs(&self.items) {
            match run {
                Run::One(item) => told.push(self.told(item, now, &mut numbers)?),
                Run::Many(checks) => {
                    let mut many = numbers.next_many()?;
                    for check in checks {
                        told.push(self.told(check, now, &mut many)?);
                    }
                    many.end()?;
                }
            }
        }
        numbers.end()?;
        Ok(told)
    }

    fn told(&self, item: &Item, now: u64, numbers: &mut Integers<'_>) -> Result<Told, ReplyError> {
        let status = numbers.next()?;
        if status == 9 {
            let code = numbers.next()?;
            let unknown = || ReplyError::new(format!("{code} is no fault"));
            return KeyFault::of_code(code).map(Told::Fault).ok_or_else(unknown);
        }
        if let Some(wanted) = item.wanted() {
            return self.checked(wanted, status, now, numbers).map(Told::Checked);
        }
        match (item, status) {
            (Item::Settle { .. }, 4) => Ok(Told::Unknown),
            (Item::Settle { due, .. }, 1) => {
                due.iter().map(|_| changed(numbers)).collect::<Result<_, _>>().map(Told::Settled)
            }
            (Item::Ask { .. }, 4) => Ok(Told::Leased { answer: None, now_micros: now }),
            (Item::Ask { .. }, 1) => {
                leased(numbers).map(|answer| Told::Leased { answer: Some(answer), now_micros: now })
            }
            (_, 1) => changed(numbers).map(|changed| Told::Changed { changed, now_micros: now }),
            _ => Err(ReplyError::new(format!("{status} is no status"))),
        }
    }

    fn checked(
        &self,
        wanted: &[Wanted],
        status: i64,
        now: u64,
        numbers: &mut Integers<'_>,
    ) -> Result<Checked, ReplyError> {
        let (outcome, is_retold) = match status {
            0 => (Outcome::Denied, false),
            1 | PLAINLY_ADMITTED => (Outcome::Admitted, false),
            2 => (Outcome::Never, false),
            3 => (Outcome::Admitted, true),
            _ => return Err(ReplyError::new(format!("{status} is no status"))),
        };
        let now_micros = if is_retold { numbers.next_amount()? } else { now };
        let mut buckets = Vec::with_capacity(wanted.len());
        for wanted in wanted {
            let limit = self.limits.get(wanted.limit).ok_or_else(|| ReplyError::new("a limit is lost"))?;
            let balance = numbers.next()?;
            let (wait, third) = match status {
                PLAINLY_ADMITTED => (0, 0),
                _ => (numbers.next()?, numbers.next_amount()?),
            };
            let full = if limit.is_counted() { Some(numbers.next_amount()?) } else { None };
            let numbers = Numbers { balance, wait, third, full };
            buckets.push(BucketTold::new(wanted, limit, outcome, now_micros, numbers));
        }
        Ok(Checked { outcome, is_retold, now_micros, buckets })
    }
}

fn leased(numbers: &mut Integers<'_>) -> Result<Answer, ReplyError> {
    Ok(Answer {
        granted: Tokens::from_micros(numbers.next_amount()?),
        wait: Span::from_micros(numbers.next_amount()?),
        held: Tokens::from_micros(numbers.next_amount()?),
        balance: numbers.next()?,
    })
}

fn changed(numbers: &mut Integers<'_>) -> Result<Changed, ReplyError> {
    Ok(Changed { before: numbers.next()?, after: numbers.next()? })
}
