//! Which requests are traced: `OTEL_TRACES_SAMPLER` and its argument.

use opentelemetry_sdk::trace::Sampler;

use super::variables::Variables;

const NAME: &str = "OTEL_TRACES_SAMPLER";
const ARGUMENT: &str = "OTEL_TRACES_SAMPLER_ARG";
const USUAL: &str = "parentbased_always_on";

/// A sampler and what it is called.
#[derive(Debug, Clone)]
pub(super) struct Sampling {
    pub(super) name: &'static str,
    pub(super) sampler: Sampler,
}

/// What is asked for. Usually what the caller does, and every request whose caller does not say; as OpenTelemetry has it.
pub(super) fn read(variables: &mut Variables) -> Sampling {
    let typed = variables.text(NAME);
    let (name, root) = match typed.as_deref() {
        None | Some("parentbased_always_on") => (USUAL, Sampler::AlwaysOn),
        Some("parentbased_always_off") => ("parentbased_always_off", Sampler::AlwaysOff),
        Some("parentbased_traceidratio") => ("parentbased_traceidratio", ratio(variables)),
        Some("always_on") => return Sampling { name: "always_on", sampler: Sampler::AlwaysOn },
        Some("always_off") => return Sampling { name: "always_off", sampler: Sampler::AlwaysOff },
        Some("traceidratio") => return Sampling { name: "traceidratio", sampler: ratio(variables) },
        Some(other) => {
            let why = format!(
                "{USUAL} counts instead; use always_on, always_off, traceidratio, parentbased_always_on, \
                 parentbased_always_off or parentbased_traceidratio"
            );
            variables.warn(NAME, other, &why);
            (USUAL, Sampler::AlwaysOn)
        }
    };
    Sampling { name, sampler: Sampler::ParentBased(Box::new(root)) }
}

fn ratio(variables: &mut Variables) -> Sampler {
    let typed = variables.text(ARGUMENT).unwrap_or_default();
    let ratio = typed.parse().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
    if ratio.is_none() {
        variables.warn(ARGUMENT, &typed, "1 counts instead; use a ratio from 0 to 1, as in 0.01");
    }
    Sampler::TraceIdRatioBased(ratio.unwrap_or(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, argument: &str) -> (String, Vec<String>) {
        let pairs = [(NAME, name), (ARGUMENT, argument)];
        let mut variables = Variables::new(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let sampling = read(&mut variables);
        (format!("{} {:?}", sampling.name, sampling.sampler), variables.into_warnings())
    }

    #[test]
    fn every_sampler_of_the_specification_is_known_and_others_are_warned_of() {
        for (name, argument, expected) in [
            ("", "", "parentbased_always_on ParentBased(AlwaysOn)"),
            ("always_off", "0.5", "always_off AlwaysOff"),
            ("always_on", "", "always_on AlwaysOn"),
            ("traceidratio", "0.25", "traceidratio TraceIdRatioBased(0.25)"),
            ("parentbased_always_off", "", "parentbased_always_off ParentBased(AlwaysOff)"),
            ("parentbased_traceidratio", "0", "parentbased_traceidratio ParentBased(TraceIdRatioBased(0.0))"),
        ] {
            assert_eq!(of(name, argument), (expected.to_owned(), Vec::new()));
        }
        let (fallback, warnings) = of("xray", "");
        assert_eq!(fallback, "parentbased_always_on ParentBased(AlwaysOn)");
        assert!(warnings[0].starts_with("OTEL_TRACES_SAMPLER is 'xray'; parentbased_always_on counts"));
        for argument in ["", "2", "-0.1", "half", "NaN"] {
            let (fallback, warnings) = of("traceidratio", argument);
            assert_eq!(fallback, "traceidratio TraceIdRatioBased(1.0)");
            assert!(warnings[0].starts_with(&format!("{ARGUMENT} is '{argument}'; 1 counts instead")));
        }
    }
}
