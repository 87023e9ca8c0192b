//! What a request costs under a rule (P6), exact to a micro-token.
//!
//! Promises that a client's number is either understood and kept within the plan's bounds, or not used at all and said to
//! be unusable. No floating point.

use tollgate_core::Cost;

use crate::request::Request;
use crate::value::{Scratch, query};
use crate::{CostPlan, CostSource};

const MICROS_PER_TOKEN: u64 = 1_000_000;
const PLACES: usize = 6;

/// What a request costs, and how that came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Price {
    /// Within the plan's bounds, never zero.
    pub(crate) cost: Cost,
    /// What the source said, before the bounds; `None` if it said nothing usable.
    pub(crate) said: Option<Cost>,
    /// The source was to say it and did not, or said nothing usable: the default counts.
    pub(crate) was_unusable: bool,
}

/// The price of a request under `plan`.
#[inline]
pub(crate) fn price(plan: &CostPlan, request: &Request<'_>) -> Price {
    let (said, is_from_client) = match &plan.source {
        CostSource::Fixed => (None, false),
        CostSource::PerMethod(costs) => {
            let of_method = costs.iter().find(|(methods, _)| methods.meets(request.method));
            (of_method.map(|(_, cost)| *cost), false)
        }
        CostSource::Header(_) | CostSource::Query(_) if request.facts.cost.is_some() => {
            (request.facts.cost, false)
        }
        CostSource::Header(name) => (request.facts.headers.get(name).and_then(read), true),
        CostSource::Query(name) => (query(request, name, &mut Scratch::default()).and_then(read), true),
        CostSource::RequestBytes { per_token } => {
            let tokens = |bytes: u64| Cost::tokens(bytes.div_ceil((*per_token).max(1)));
            (request.facts.body_bytes.map(tokens), true)
        }
    };
    let cost = said.unwrap_or(plan.default).min(plan.max).max(plan.min).max(Cost::micros(1));
    Price { cost, said, was_unusable: is_from_client && said.is_none() }
}

impl CostPlan {
    /// The true cost as a response tells it ([`crate::Rule::settle_header`]), read like a request's number but for this:
    /// zero is a cost, too, and no bounds apply, since it comes from behind the gate. `None` if it is no number.
    pub fn settled(&self, text: &str) -> Option<Cost> {
        read_number(text)
    }
}

/// Reads what a client says; zero is nothing.
fn read(text: &str) -> Option<Cost> {
    read_number(text).filter(|cost| *cost > Cost::micros(0))
}

/// Reads a number of tokens: digits with at most one point, and nothing else. Less than a micro-token is rounded up; more
/// than can be held is the most that can.
fn read_number(text: &str) -> Option<Cost> {
    let (whole, places) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + places.len() == 0 || !is_digits(whole) || !is_digits(places) {
        return None;
    }
    let mut micros = digits(whole.bytes()).saturating_mul(MICROS_PER_TOKEN);
    let padded = places.bytes().chain(std::iter::repeat(b'0')).take(PLACES);
    micros = micros.saturating_add(digits(padded));
    let is_more = places.bytes().skip(PLACES).any(|digit| digit != b'0');
    micros = micros.saturating_add(u64::from(is_more));
    Some(Cost::micros(micros))
}

/// The number that these digits write, saturating.
fn digits(digits: impl Iterator<Item = u8>) -> u64 {
    digits.fold(0, |number: u64, digit| number.saturating_mul(10).saturating_add(u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests;
