//! What may be typed after `tollgate demo`, and the door at which it becomes scenes and a [`Scenario`].
//!
//! Every complaint names the flag, the value and the cure. Past this door nothing is checked again.
//! Without flags it is the worked example: rate 10/s, burst 50, a request every 1/60 s.

use std::path::PathBuf;

use clap::Args;
use tollgate::{Burst, Limit, Rate, Span};

use crate::decimal::Decimal;

use super::arrivals::Arrivals;
use super::scenario::{REQUESTS_MAX, Scenario};
use super::scene::Scene;

/// Longest run: a day.
const SECONDS_MAX: u64 = 86_400;
/// The worked example: rate, burst, arrivals and length.
const TEN: Decimal = Decimal { digits: 10, places: 0 };
const FIFTY: Decimal = Decimal { digits: 50, places: 0 };
const SECONDS_DEFAULT: u64 = 5;
const SIXTY_PER_SECOND: Arrivals = Arrivals::PerSecond(Decimal { digits: 60, places: 0 });
/// What a span may be counted in, and how many nanoseconds that is. Longest names first: `ms` also ends in `s`.
const UNITS: [(&str, u64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// The flags as typed, each sound by itself.
#[derive(Debug, Clone, Args)]
pub(crate) struct DemoFlags {
    /// Start the service with clients of every kind, to be looked at in the dashboard, until Ctrl-C
    #[arg(
        long,
        conflicts_with_all = ["scene", "svg", "rate", "burst", "per_second", "every", "seconds"]
    )]
    pub(super) live: bool,
    /// Open the dashboard in a browser
    #[arg(long, requires = "live")]
    pub(super) open: bool,
    /// Show this scene only; may be given several times [default: all of them]
    #[arg(long, value_name = "NAME", value_enum, value_delimiter = ',')]
    scene: Vec<Scene>,
    /// Also draw the scenes' charts into one SVG file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    of_worked_example: ScenarioFlags,
}

/// What the worked example plays.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "The worked example with other figures")]
struct ScenarioFlags {
    /// Refill, in tokens per second [default: 10]
    #[arg(long, value_name = "TOKENS", value_parser = rate, allow_negative_numbers = true)]
    rate: Option<Decimal>,
    /// Tokens in a full bucket [default: 50]
    #[arg(long, value_name = "TOKENS", value_parser = burst, allow_negative_numbers = true)]
    burst: Option<Decimal>,
    /// Arrivals per second [default: 60]
    #[arg(long, value_name = "REQUESTS", value_parser = decimal, allow_negative_numbers = true)]
    per_second: Option<Decimal>,
    /// Or the time between them: 50ms, 1.5s
    #[arg(long, value_name = "SPAN", value_parser = span, allow_hyphen_values = true, conflicts_with = "per_second")]
    every: Option<Span>,
    /// Length of the run [default: 5]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    seconds: Option<u64>,
}

/// What is to be shown.
#[derive(Debug)]
pub(crate) struct Show {
    /// In the order of their story, each once.
    pub(crate) scenes: Vec<Scene>,
    /// That of the worked example, whether it is shown or not.
    pub(crate) scenario: Scenario,
    pub(crate) svg: Option<PathBuf>,
}

impl DemoFlags {
    /// What to show, if the flags are sound together; otherwise what to change. Figures for the worked example alone ask for that
    /// scene alone.
    pub(crate) fn into_show(self) -> Result<Show, String> {
        let DemoFlags { scene, svg, of_worked_example, live: _, open: _ } = self;
        let typed = of_worked_example.first_typed();
        if let Some(flag) = typed
            && !scene.is_empty()
            && !scene.contains(&Scene::WorkedExample)
        {
            return Err(format!(
                "{flag} is for the worked example, which --scene leaves out; add --scene worked-example, or drop {flag}"
            ));
        }
        let is_shown = |shown: &Scene| match typed {
            Some(_) if scene.is_empty() => *shown == Scene::WorkedExample,
            _ => scene.is_empty() || scene.contains(shown),
        };
        let scenes = Scene::ALL.into_iter().filter(is_shown).collect();
        Ok(Show { scenes, scenario: of_worked_example.into_scenario()?, svg })
    }
}

impl ScenarioFlags {
    /// The first flag that was typed.
    fn first_typed(&self) -> Option<&'static str> {
        let typed = [
            ("--rate", self.rate.is_some()),
            ("--burst", self.burst.is_some()),
            ("--per-second", self.per_second.is_some()),
            ("--every", self.every.is_some()),
            ("--seconds", self.seconds.is_some()),
        ];
        typed.into_iter().find(|(_, is_typed)| *is_typed).map(|(flag, _)| flag)
    }

    /// The scenario, if the flags are sound together; otherwise what to change.
    fn into_scenario(self) -> Result<Scenario, String> {
        let rate = self.rate.unwrap_or(TEN);
        let burst = self.burst.unwrap_or(FIFTY);
        let seconds = self.seconds.unwrap_or(SECONDS_DEFAULT);
        let arrivals = match (self.every, self.per_second) {
            (Some(span), _) => Arrivals::Every(span),
            (None, number) => number.map_or(SIXTY_PER_SECOND, Arrivals::PerSecond),
        };
        let limit = Limit::new(rate_of(rate), burst_of(burst)?).map_err(|_| {
            format!(
                "--burst {burst} takes more than 146 years to refill at --rate {rate}; \
                 use a smaller burst or a higher rate"
            )
        })?;
        let scenario = Scenario { limit, rate, burst, arrivals, length: Span::from_secs(seconds) };
        let requests = scenario.requests();
        let typed = match arrivals {
            Arrivals::Every(span) => format!("--every {span}"),
            Arrivals::PerSecond(number) => format!("--per-second {number}"),
        };
        if requests > REQUESTS_MAX {
            return Err(format!(
                "{typed} for --seconds {seconds} makes {requests} requests; \
                 use at most {REQUESTS_MAX}: fewer per second, or fewer seconds"
            ));
        }
        if requests < 2 {
            return Err(format!(
                "{typed} for --seconds {seconds} makes a single request, which shows nothing; \
                 use more per second, or more seconds"
            ));
        }
        Ok(scenario)
    }
}

fn decimal(text: &str) -> Result<Decimal, String> {
    text.parse().map_err(|error| format!("{error}"))
}

/// A rate that some burst goes with: every sound rate goes with a burst of 1.
fn rate(text: &str) -> Result<Decimal, String> {
    let number = decimal(text)?;
    Limit::new(rate_of(number), Burst::tokens(1)).map_err(|error| error.to_string())?;
    Ok(number)
}

/// A burst that some rate goes with: every sound burst goes with 10^9 per second.
fn burst(text: &str) -> Result<Decimal, String> {
    let number = decimal(text)?;
    let burst = burst_of(number)?;
    if burst < Burst::tokens(1) {
        return Err("a request costs 1 token and would never be admitted; use 1 or more".to_owned());
    }
    Limit::new(Rate::per_second(1_000_000_000), burst).map_err(|error| error.to_string())?;
    Ok(number)
}

fn seconds(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(seconds @ 1..=SECONDS_MAX) => Ok(seconds),
        _ => Err(format!("use a whole number from 1 to {SECONDS_MAX} (one day)")),
    }
}

/// `50ms`, `1.5s`: a number and its unit, a whole number of nanoseconds.
fn span(text: &str) -> Result<Span, String> {
    let unit = UNITS.iter().find_map(|(name, nanos)| Some((text.strip_suffix(name)?, *nanos)));
    let Some((number, nanos)) = unit else {
        return Err("a span needs a unit: ns, us, ms, s, m or h, as in 50ms".to_owned());
    };
    let number = decimal(number.trim_end())?;
    number.of(nanos).map(Span::from_nanos).ok_or_else(|| {
        "not a whole number of nanoseconds, or above 584 years; use a rounder or shorter one".to_owned()
    })
}

fn rate_of(number: Decimal) -> Rate {
    Rate::new(number.digits, Span::from_secs(10_u64.pow(number.places)))
}

fn burst_of(number: Decimal) -> Result<Burst, String> {
    number.of(1_000_000).map(Burst::micros).ok_or_else(|| {
        "it must be whole micro-tokens, and 10^12 tokens at most; round it to six places".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_a_number_and_a_unit() {
        for (text, nanos) in [
            ("7ns", 7),
            ("50ms", 50_000_000),
            ("1.5s", 1_500_000_000),
            ("2 m", 120_000_000_000),
            ("3us", 3_000),
            ("3µs", 3_000),
        ] {
            assert_eq!(span(text), Ok(Span::from_nanos(nanos)), "{text}");
        }
        for text in ["", "50", "ms", "-1s", "0s", "0.5ns", "999999999999h", "1d"] {
            assert!(span(text).is_err(), "{text}");
        }
    }
}
