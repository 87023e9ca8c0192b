//! One term: literals that must all hold. Every [`Term`] that exists is one that does not evidently contradict itself.

use super::atom::Atom;
use super::path::is_every_path;
use crate::{KeySource, MethodSet};

/// Every method: nine with names, and all others as one.
const METHODS_ALL: u16 = 0x3ff;

/// Literals that must all hold.
#[derive(Debug, Clone)]
pub(crate) struct Term<'c> {
    /// The methods that are left; a request has exactly one. Never none.
    methods: u16,
    literals: Vec<Literal<'c>>,
}

/// An atom, or its opposite.
#[derive(Debug, Clone)]
pub(crate) struct Literal<'c> {
    pub(crate) is_negated: bool,
    pub(crate) atom: Atom<'c>,
}

impl<'c> Term<'c> {
    /// Every request.
    pub(super) const ALWAYS: Term<'static> = Term { methods: METHODS_ALL, literals: Vec::new() };

    /// A request of one of these methods, or of none of them; `None` if there is none such.
    pub(super) fn of_methods(methods: MethodSet, is_negated: bool) -> Option<Term<'c>> {
        let methods = if is_negated { !methods.0 } else { methods.0 } & METHODS_ALL;
        (methods != 0).then_some(Term { methods, literals: Vec::new() })
    }

    /// What meets an atom, or does not; `None` if nothing can.
    pub(super) fn of_atom(atom: Atom<'c>, is_negated: bool) -> Option<Term<'c>> {
        Term { methods: METHODS_ALL, literals: vec![Literal { is_negated, atom }] }.if_sound()
    }

    /// What meets both; `None` if nothing can.
    pub(super) fn and(&self, other: &Term<'c>) -> Option<Term<'c>> {
        let literals = self.literals.iter().chain(&other.literals).cloned().collect();
        Term { methods: self.methods & other.methods, literals }.if_sound()
    }

    /// Whether every request meets it.
    pub(super) fn is_always(&self) -> bool {
        self.methods == METHODS_ALL && self.literals.is_empty()
    }

    /// Its methods.
    pub(crate) fn methods(&self) -> MethodSet {
        MethodSet(self.methods)
    }

    /// Whether it says anything of the method.
    pub(crate) fn tests_methods(&self) -> bool {
        self.methods != METHODS_ALL
    }

    /// What else must hold.
    pub(crate) fn literals(&self) -> &[Literal<'c>] {
        &self.literals
    }

    /// Whether all that meets this certainly meets `other`.
    pub(super) fn implies(&self, other: &Term<'c>) -> bool {
        self.methods & !other.methods == 0
            && other.literals.iter().all(|asked| self.literals.iter().any(|given| given.implies(asked)))
    }

    /// The term in parts that make it up, along something that one of `others` looks at; itself alone if there is nothing.
    pub(super) fn parts(&self, others: &[&Term<'c>]) -> Vec<Term<'c>> {
        for (at, literal) in self.literals.iter().enumerate() {
            if let (false, Atom::OneOf(source, values)) = (literal.is_negated, &literal.atom)
                && values.len() > 1
                && others.iter().any(|other| other.looks_at(source))
            {
                return values.iter().map(|value| self.narrowed(at, source, value)).collect();
            }
        }
        if others.iter().any(|other| other.tests_methods()) {
            let bits = (0..u16::BITS).map(|bit| 1 << bit).filter(|bit| self.methods & bit != 0);
            return bits.map(|methods| Term { methods, ..self.clone() }).collect();
        }
        vec![self.clone()]
    }

    fn looks_at(&self, source: &KeySource) -> bool {
        self.literals.iter().any(|literal| literal.atom.source() == Some(source))
    }

    /// This term with one value left of the literal at a position.
    fn narrowed(&self, at: usize, source: &'c KeySource, value: &'c str) -> Term<'c> {
        let mut term = self.clone();
        if let Some(literal) = term.literals.get_mut(at) {
            literal.atom = Atom::OneOf(source, vec![value]);
        }
        term
    }

    /// The term without values that cannot be; `None` if it contradicts itself.
    fn if_sound(mut self) -> Option<Term<'c>> {
        let all = self.literals.clone();
        for literal in self.literals.iter_mut().filter(|literal| !literal.is_negated) {
            literal.atom.keep_values(|source, value| {
                all.iter().all(|other| other.atom.passes(source, value) != Some(other.is_negated))
            });
        }
        let is_contradiction = |at: usize, one: &Literal<'c>| {
            let others = self.literals.get(at + 1..).unwrap_or_default();
            one.is_empty() || others.iter().any(|other| one.excludes(other))
        };
        let literals = self.literals.iter().enumerate();
        let is_sound = self.methods != 0 && !literals.clone().any(|(at, one)| is_contradiction(at, one));
        is_sound.then_some(self)
    }
}

impl<'c> Literal<'c> {
    /// Whether whatever meets this meets `asked`.
    fn implies(&self, asked: &Literal<'c>) -> bool {
        match (self.is_negated, asked.is_negated) {
            (false, false) => asked.atom.covers(&self.atom),
            (true, true) => self.atom.covers(&asked.atom),
            (false, true) => self.atom.excludes(&asked.atom),
            (true, false) => false,
        }
    }

    /// Whether nothing meets both.
    fn excludes(&self, other: &Literal<'c>) -> bool {
        match (self.is_negated, other.is_negated) {
            (false, false) => self.atom.excludes(&other.atom),
            (false, true) => other.atom.covers(&self.atom),
            (true, false) => self.atom.covers(&other.atom),
            (true, true) => false,
        }
    }

    /// Whether nothing meets it.
    fn is_empty(&self) -> bool {
        match (self.is_negated, &self.atom) {
            (false, atom) => atom.is_empty(),
            (true, Atom::Path(test)) => is_every_path(test),
            (true, _) => false,
        }
    }
}
