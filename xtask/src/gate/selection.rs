//! Which steps run: those named on the command line, less those named in `TOLLGATE_SKIP`.

use crate::problem::Problem;

use super::components::{COMPONENTS, Component};
use super::step::Step;

/// Holds comma-separated names of what to leave out.
pub(super) const SKIP_VARIABLE: &str = "TOLLGATE_SKIP";

/// The chosen steps, in the gate's own order.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Selection {
    chosen: Vec<Step>,
    skipped: Vec<Step>,
    /// Names of components.
    skipped_components: Vec<&'static str>,
}

impl Selection {
    /// Reads the steps named by the caller (none means all) and the value of [`SKIP_VARIABLE`].
    pub(super) fn parse(named: &[String], skip: &str) -> Result<Self, Problem> {
        let named = named.iter().map(|name| step_called(name, "cargo xtask test"));
        let named = named.collect::<Result<Vec<_>, _>>()?;
        let (mut skipped, mut skipped_components) = (Vec::new(), Vec::new());
        for name in skip.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match COMPONENTS.iter().find(|component| component.name == name) {
                Some(component) => skipped_components.push(component.name),
                None => skipped.push(step_called(name, SKIP_VARIABLE)?),
            }
        }
        let chosen = Step::ALL.into_iter().filter(|step| named.is_empty() || named.contains(step)).collect();
        Ok(Self { chosen, skipped, skipped_components })
    }

    /// The steps to go through, skipped ones included.
    pub(super) fn steps(&self) -> impl Iterator<Item = Step> {
        self.chosen.iter().copied()
    }

    /// Whether this step is to be left out.
    pub(super) fn skips(&self, step: Step) -> bool {
        self.skipped.contains(&step)
    }

    /// Whether this component is to be left out. Its tests read the variable themselves.
    pub(super) fn skips_component(&self, component: &Component) -> bool {
        self.skips_component_called(component.name)
    }

    /// The same, by its name.
    pub(super) fn skips_component_called(&self, name: &str) -> bool {
        self.skipped_components.contains(&name)
    }
}

fn step_called(name: &str, asked_by: &str) -> Result<Step, Problem> {
    Step::ALL.into_iter().find(|step| step.name() == name).ok_or_else(|| {
        let mut known = Step::ALL.map(Step::name).join(", ");
        if asked_by == SKIP_VARIABLE {
            known =
                format!("{known}; the components: {}", COMPONENTS.map(|component| component.name).join(", "));
        }
        Problem::usage(format!("{asked_by}: there is no step `{name}`; the steps are: {known}"))
    })
}

#[cfg(test)]
mod tests {
    use super::{COMPONENTS, Selection, Step};

    fn select(named: &[&str], skip: &str) -> Result<Selection, String> {
        let named: Vec<String> = named.iter().map(|&name| name.to_owned()).collect();
        Selection::parse(&named, skip).map_err(|problem| problem.to_string())
    }

    #[test]
    fn no_name_means_every_step() {
        assert_eq!(select(&[], "").unwrap().steps().count(), Step::ALL.len());
    }

    #[test]
    fn named_steps_run_in_the_order_of_the_gate() {
        let steps: Vec<Step> = select(&["test", "fmt"], "").unwrap().steps().collect();
        assert_eq!(steps, [Step::Fmt, Step::Test]);
    }

    #[test]
    fn skipped_steps_stay_in_the_list_so_that_they_are_reported() {
        let selection = select(&[], " loom, examples,").unwrap();
        assert!(selection.skips(Step::Loom) && selection.skips(Step::Examples));
        assert!(!selection.skips(Step::Docs));
        assert_eq!(selection.steps().count(), Step::ALL.len());
    }

    #[test]
    fn a_component_is_skipped_by_its_name_and_no_step_is() {
        let selection = select(&[], "caddy,loom").unwrap();
        let skipped = COMPONENTS.iter().filter(|component| selection.skips_component(component));
        assert_eq!(skipped.map(|component| component.name).collect::<Vec<_>>(), ["caddy"]);
        assert_eq!(selection.skipped, [Step::Loom]);
        assert!(select(&["caddy"], "").unwrap_err().contains("no step `caddy`"));
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let message = select(&[], "lom").unwrap_err();
        assert!(message.starts_with("TOLLGATE_SKIP: there is no step `lom`; the steps are: setup, fmt, "));
        assert!(
            message.ends_with(
                "; the components: nginx, haproxy, caddy, traefik, express, fastapi, systemd, redis-tools, redis-py, ioredis, \
                 redis, redis-6.2, redis-5, valkey, faketime, postgres, sqlite3, chromium, promtool"
            ),
            "{message}"
        );
        assert!(select(&["all"], "").unwrap_err().contains("no step `all`"));
    }
}
