//! What the rules considered so far come to.

use arrayvec::ArrayVec;
use tollgate_core::CHARGES_MAX;

use super::Forms;
use crate::Ruling;
use crate::few::Few;
use crate::path::PathForm;

/// So many rules that only watch are told; the later ones of the policy are dropped, which changes no verdict.
pub const SHADOW_HITS_MAX: usize = 16;

/// So many groups are held without the allocator.
const GROUPS_ON_STACK: usize = 16;

/// What the rules considered so far come to.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) blocked: Option<usize>,
    pub(crate) allowed: Option<usize>,
    /// The standing order that allows, unless one blocks.
    freed: Option<usize>,
    pub(crate) key_missing: Option<usize>,
    hits: ArrayVec<(usize, bool), { CHARGES_MAX + SHADOW_HITS_MAX }>,
    enforced: usize,
    shadows: usize,
    has_too_many: bool,
    groups: Few<TakenGroup, GROUPS_ON_STACK>,
}

/// A group of which a rule applies, for one form of the path.
#[derive(Debug, Clone, Copy)]
struct TakenGroup {
    group: usize,
    form: PathForm,
    /// The first of its rules that applies; perhaps one that only watches.
    first: usize,
    /// The first of its rules that enforces.
    enforcing: Option<usize>,
}

impl Tally {
    pub(crate) fn new() -> Tally {
        Tally {
            blocked: None,
            allowed: None,
            freed: None,
            key_missing: None,
            hits: ArrayVec::new(),
            enforced: 0,
            shadows: 0,
            has_too_many: false,
            groups: Few::new(),
        }
    }

    /// Takes the group for a rule, for every form of the path that the rule's condition holds for; if none is left, returns
    /// the rule that has it. So every form of the path has a tier of its own, and all of them apply if they differ.
    pub(super) fn take_group(
        &mut self,
        group: usize,
        forms: Forms,
        rule: usize,
        is_enforced: bool,
    ) -> Option<usize> {
        let (mut is_free, mut holder) = (false, None);
        for form in forms.met.iter() {
            match self.take_form(group, form, rule, is_enforced) {
                None => is_free = true,
                by => holder = holder.or(by),
            }
        }
        holder.filter(|_| !is_free)
    }

    /// Takes the group for a rule and a form; if it is taken, returns the rule that has it. A rule that only watches keeps no
    /// rule out that enforces: what is enforced is as if the watching rule were not there.
    fn take_form(&mut self, group: usize, form: PathForm, rule: usize, is_enforced: bool) -> Option<usize> {
        let enforcing = is_enforced.then_some(rule);
        let mut taken = self.groups.as_mut_slice().iter_mut();
        let Some(taken) = taken.find(|taken| taken.group == group && taken.form == form) else {
            self.groups.push(TakenGroup { group, form, first: rule, enforcing });
            return None;
        };
        match taken.enforcing {
            Some(by) => Some(by),
            None if is_enforced => {
                taken.enforcing = enforcing;
                None
            }
            None => Some(taken.first),
        }
    }

    /// Returns the rule that has the group for every form of the path that a rule's condition holds for; `None` if one is left.
    pub(super) fn group_holder(&mut self, group: usize, forms: Forms, is_enforced: bool) -> Option<usize> {
        let taken = self.groups.as_mut_slice();
        let holder = |form| {
            let taken = taken.iter().find(|taken| taken.group == group && taken.form == form)?;
            taken.enforcing.or((!is_enforced).then_some(taken.first))
        };
        let mut first = None;
        for form in forms.met.iter() {
            let by = holder(form)?;
            first.get_or_insert(by);
        }
        first
    }

    /// Notes a standing order that allows. Orders that block are considered before, and win.
    pub(super) fn free(&mut self, rule: usize) {
        if self.blocked.is_none() {
            self.freed.get_or_insert(rule);
        }
    }

    /// Whether no later rule can change the ruling.
    pub(super) fn is_settled(&self) -> bool {
        self.blocked.is_some() || self.freed.is_some()
    }

    /// Notes a rule whose bucket is to be charged.
    pub(super) fn charge(&mut self, rule: usize, is_enforced: bool) {
        let (count, max) = if is_enforced {
            (&mut self.enforced, CHARGES_MAX)
        } else {
            (&mut self.shadows, SHADOW_HITS_MAX)
        };
        if *count == max {
            self.has_too_many |= is_enforced;
            return;
        }
        *count += 1;
        self.hits.push((rule, is_enforced));
    }

    /// The rules to be charged and whether they enforce, in the order in which they were considered.
    pub(crate) fn hits(&self) -> impl Iterator<Item = (usize, bool)> {
        self.hits.iter().copied()
    }

    /// What becomes of the request.
    pub(crate) fn ruling(&self) -> Ruling {
        if let Some(rule) = self.freed {
            Ruling::Allowed { rule }
        } else if let Some(rule) = self.blocked {
            Ruling::Blocked { rule }
        } else if let Some(rule) = self.allowed {
            Ruling::Allowed { rule }
        } else if let Some(rule) = self.key_missing {
            Ruling::KeyMissing { rule }
        } else if self.has_too_many {
            Ruling::TooManyRules
        } else {
            Ruling::ByBuckets
        }
    }
}
