//! stub
#![allow(missing_docs)]
use crate::*;
use std::sync::Arc;
#[derive(Debug)]
pub struct RuleBook(Arc<Policy>);
#[derive(Debug)]
pub struct Explanation;
impl RuleBook {
    pub fn new(p: Policy) -> Self {
        RuleBook(Arc::new(p))
    }
    pub fn policy(&self) -> &Policy {
        &self.0
    }
    pub fn shared_policy(&self) -> Arc<Policy> {
        Arc::clone(&self.0)
    }
    pub fn rule_on(&self, _f: &Facts<'_>, _u: u64, mut _h: impl FnMut(Hit<'_>)) -> Ruling {
        Ruling::ByBuckets
    }
    pub fn explain(&self, _: &Facts<'_>, _: u64) -> Explanation {
        Explanation
    }
}
impl CostPlan {
    pub fn settled(&self, _t: &str) -> Option<tollgate_core::Cost> {
        None
    }
}
