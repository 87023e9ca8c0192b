//! Fills the tables of one group of cases, runs its cases, and drops the tables.

use super::case::{Case, Family};
use super::deeds::OneDeed;
use super::fill::Filler;
use super::four_buckets::FourBuckets;
use super::results::{CaseResult, Comparison, SINGLE};
use super::rounds::{self, Contender, Expected, Plan};
use super::stream;
use super::subject::{Subject, SubjectKind};
use crate::options::Options;
use crate::problem::Problem;

const ROUNDS: u32 = 5;
/// A quick run is one round on this part of the stream.
const QUICK_DIVISOR: u32 = 10;

struct Filled {
    kind: SubjectKind,
    subject: Box<dyn Subject>,
}

/// Measures cases that share a table; hands over each result as it is there.
pub(crate) fn measure(
    group: &[Case],
    options: &Options,
    report: &mut impl FnMut(CaseResult),
) -> Result<(), Problem> {
    let filled = fill_tables(group, options);
    for case in group {
        eprintln!("core: {case}");
        report(measure_case(case, &filled, options)?);
    }
    Ok(())
}

/// Every subject that a case of the group needs.
fn fill_tables(group: &[Case], options: &Options) -> Vec<Filled> {
    let Some(first) = group.first() else { return Vec::new() };
    let (keys, quota) = (options.scaled(first.keys), first.quota());
    let peers_run = group.iter().any(|case| matches!(case.family, Family::Str | Family::Denied));
    let kinds = SubjectKind::ALL.into_iter().filter(|&kind| peers_run || kind == SubjectKind::Tollgate);
    let fill = |kind: SubjectKind| {
        eprintln!("core: {} gets {keys} keys", kind.name());
        let subject = kind.build(quota, keys);
        Filler::new().fill(&*subject, keys);
        Filled { kind, subject }
    };
    kinds.map(fill).collect()
}

fn measure_case(case: &Case, filled: &[Filled], options: &Options) -> Result<CaseResult, Problem> {
    let (rounds, checks) =
        if options.quick { (1, case.checks() / QUICK_DIVISOR) } else { (ROUNDS, case.checks()) };
    let (keys, checks) = (options.scaled(case.keys), options.scaled(checks));
    let stream = stream::users(case.distribution, keys, checks);
    let expected = if case.family == Family::Denied { Expected::Denied } else { Expected::Admitted };
    let plan = Plan { stream: &stream, threads: case.threads, mode: case.mode, rounds, expected };

    let alone = |subject: &dyn Subject| {
        Filler::new().fill(subject, keys);
        rounds::run(&against_single(subject, filled), &plan)
    };
    let (rows, comparison) = match case.family {
        Family::Multi4 => (alone(&FourBuckets::new(case.quota(), keys, checks))?, Comparison::CostOfSingle),
        Family::Deed(deed) => (alone(&OneDeed::new(deed, keys))?, Comparison::CostOfSingle),
        Family::Str | Family::Denied => {
            (rounds::run(&against_peers(filled), &plan)?, Comparison::GainOverGovernor)
        }
    };
    Ok(CaseResult { case: case.to_string(), rows, comparison })
}

fn against_peers(filled: &[Filled]) -> Vec<Contender<'_>> {
    filled.iter().map(|one| Contender { name: one.kind.name(), subject: &*one.subject }).collect()
}

fn against_single<'a>(subject: &'a dyn Subject, filled: &'a [Filled]) -> Vec<Contender<'a>> {
    let single = filled.iter().filter(|one| one.kind == SubjectKind::Tollgate);
    let single = single.map(|one| Contender { name: SINGLE, subject: &*one.subject });
    [Contender { name: SubjectKind::Tollgate.name(), subject }].into_iter().chain(single).collect()
}
