//! The flags that every suite takes.
//!
//! Parsed once; a word that is not understood is refused with what would be. Knows nothing of any suite's cases.

use crate::glob::Glob;
use crate::problem::Problem;

/// How the flags are typed. `--scale` is left out: it serves the tests of this package alone.
pub(crate) const USAGE: &str = "[--json] [--case GLOB] [--quick]";

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// JSON lines on stdout instead of tables.
    pub(crate) json: bool,
    /// One round on a tenth of the stream: does it still run? Its figures mean little.
    pub(crate) quick: bool,
    /// The cases to run.
    pub(crate) case: Glob,
    /// Divides every key count and stream length. Above 1 the figures mean nothing.
    pub(crate) scale: u32,
}

impl Options {
    /// Reads the flags after the suite's name.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, Problem> {
        let mut options = Self { json: false, quick: false, case: Glob::new("*"), scale: 1 };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--json" => options.json = true,
                "--quick" => options.quick = true,
                "--case" => options.case = Glob::new(value_of(argument, rest.next())?),
                "--scale" => options.scale = parse_scale(value_of(argument, rest.next())?)?,
                other => {
                    return Err(Problem::usage(format!("unexpected `{other}`; the flags are: {USAGE}")));
                }
            }
        }
        Ok(options)
    }

    /// `amount` as the scale has it, but never below 1.
    pub(crate) fn scaled(&self, amount: u32) -> u32 {
        (amount / self.scale).max(1)
    }
}

fn value_of<'a>(flag: &str, value: Option<&'a String>) -> Result<&'a str, Problem> {
    value.map(String::as_str).ok_or_else(|| Problem::usage(format!("`{flag}` needs a value after it")))
}

fn parse_scale(value: &str) -> Result<u32, Problem> {
    let refused = || Problem::usage(format!("`--scale` takes a whole number from 1 up, not `{value}`"));
    value.parse().ok().filter(|&scale| scale >= 1).ok_or_else(refused)
}

#[cfg(test)]
mod tests {
    use super::{Glob, Options};

    fn parse(arguments: &[&str]) -> Result<Options, String> {
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Options::parse(&arguments).map_err(|problem| problem.to_string())
    }

    #[test]
    fn without_flags_everything_is_measured_in_full() {
        let everything = Options { json: false, quick: false, case: Glob::new("*"), scale: 1 };
        assert_eq!(parse(&[]), Ok(everything));
    }

    #[test]
    fn flags_come_in_any_order() {
        let asked = Options { json: true, quick: true, case: Glob::new("str/1/*"), scale: 50 };
        assert_eq!(parse(&["--quick", "--case", "str/1/*", "--scale", "50", "--json"]), Ok(asked));
    }

    #[test]
    fn a_flag_that_is_not_understood_is_refused_with_the_list() {
        assert_eq!(
            parse(&["--jsno"]),
            Err("unexpected `--jsno`; the flags are: [--json] [--case GLOB] [--quick]".to_owned())
        );
        assert_eq!(parse(&["--case"]), Err("`--case` needs a value after it".to_owned()));
        assert_eq!(
            parse(&["--scale", "0"]),
            Err("`--scale` takes a whole number from 1 up, not `0`".to_owned())
        );
    }

    #[test]
    fn scaling_leaves_at_least_one() {
        let options = parse(&["--scale", "1000"]).unwrap();
        assert_eq!((options.scaled(1_000_000), options.scaled(10)), (1_000, 1));
    }
}
