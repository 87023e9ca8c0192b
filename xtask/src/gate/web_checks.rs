//! Steps `web` and `browser`: the dashboard's page, looked at from its sources and through a real browser.

use std::fs;

use crate::metadata::Metadata;
use crate::paint;
use crate::problem::Problem;
use crate::web::Page;
use crate::workspace::Workspace;

use super::page_budget::Weight;
use super::selection::{SKIP_VARIABLE, Selection};
use super::tally::Tally;
use super::{Report, Stop, test_runs, vitest_report};

/// The component that browser tests start.
const BROWSER: &str = "chromium";

/// Builds the page, before anything embeds it; then types and formatting, the unit tests, and the size of the page.
pub(super) fn web(workspace: &Workspace) -> Result<Tally, Problem> {
    let page = Page::find(workspace)?;
    page.build()?;
    let mut tally = Tally::of_one(page.check()?);
    tally += count_tests(workspace, &page, "test", &[])?;
    let weight = Weight::of(&page.dist())?;
    let is_fine = weight.is_within_limits();
    let words = format!("   {}", weight.words());
    println!("{}", if is_fine { words } else { paint::bad(&words) });
    tally += Tally::of_one(is_fine);
    Ok(tally)
}

/// The tests that look at the page through Chromium, with the program that step `test` has built.
pub(super) fn browser(workspace: &Workspace, selection: &Selection) -> Result<Report, Problem> {
    if selection.skips_component_called(BROWSER) {
        println!("   {}", paint::faint(&format!("not run: {BROWSER} is named in {SKIP_VARIABLE}")));
        return Ok(Tally::SKIP.into());
    }
    let page = Page::find(workspace)?;
    page.build()?;
    if !test_runs::build(workspace)? {
        return Ok(Report { tally: Tally::FAILURE, stop: Some(Stop::BuildBroken) });
    }
    let target = Metadata::of_members(workspace)?.target_directory;
    let program = target.join("debug/tollgate");
    let chromium = target.join("tools/bin").join(BROWSER);
    let paths = [
        ("TOLLGATE_BIN", program.to_string_lossy().into_owned()),
        ("TOLLGATE_CHROMIUM", chromium.to_string_lossy().into_owned()),
    ];
    count_tests(workspace, &page, "test:browser", &paths).map(Report::from)
}

/// Runs a script of Vitest and counts its tests. A run without a single test is a failure: it proves nothing.
fn count_tests(
    workspace: &Workspace,
    page: &Page,
    script: &str,
    variables: &[(&str, String)],
) -> Result<Tally, Problem> {
    let reports = Metadata::of_members(workspace)?.target_directory.join("vitest");
    let report = reports.join(format!("{}.json", script.replace(':', "-")));
    let cannot =
        |error: std::io::Error| Problem::failed(format!("cannot write '{}': {error}", report.display()));
    fs::create_dir_all(&reports).map_err(cannot)?;
    // An old report must not speak for a run that died.
    fs::write(&report, "").map_err(cannot)?;
    let output = format!("--outputFile.json={}", report.display());
    let mut tests = page.npm(["run", script, "--", "--reporter=default", "--reporter=json", output.as_str()]);
    for (variable, value) in variables {
        tests = tests.set_env(variable, value);
    }
    println!("   {}", paint::faint(&format!("web/ $ {}", tests.typed())));
    let mut tally = vitest_report::read(&report, tests.run()?.success());
    if !tally.ran_any() {
        println!(
            "{}",
            paint::bad(&format!("   no test was run by `npm run {script}`; has it lost its tests?"))
        );
        tally += Tally::FAILURE;
    }
    Ok(tally)
}
