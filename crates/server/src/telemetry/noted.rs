//! What the engine decided while a request was answered.
//!
//! The engine never awaits: whatever is counted while a request is polled is about that request. So whoever counts notes it here,
//! for this thread, and nothing is handed through. Nobody listens unless the request is traced; then this is one look.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;

thread_local! {
    static NOTED: RefCell<Option<Noted>> = const { RefCell::new(None) };
}

/// The checks of one request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Noted {
    /// Verdict and rule of the first.
    pub(super) first: Option<(&'static str, Box<str>)>,
    pub(super) admitted: u64,
    pub(super) denied: u64,
}

/// Notes checks that were decided alike.
pub(crate) fn note(rule: &str, verdict: &'static str, is_admitted: bool, checks: u64) {
    // A thread that ends has nobody to tell.
    let _ = NOTED.try_with(|noted| {
        if let Ok(mut noted) = noted.try_borrow_mut()
            && let Some(noted) = noted.as_mut()
        {
            noted.first.get_or_insert_with(|| (verdict, rule.into()));
            let count = if is_admitted { &mut noted.admitted } else { &mut noted.denied };
            *count = count.saturating_add(checks);
        }
    });
}

/// The answer, and what was noted while it was worked out.
pub(super) async fn noting<F: Future>(answering: F) -> (F::Output, Noted) {
    let mut answering = pin!(answering);
    let mut noted = Noted::default();
    let answer = poll_fn(|context| {
        NOTED.set(Some(std::mem::take(&mut noted)));
        let polled = answering.as_mut().poll(context);
        noted = NOTED.take().unwrap_or_default();
        polled
    });
    (answer.await, noted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_decided_meanwhile_is_noted_and_nothing_else_is() {
        note("before", "admit", true, 1);
        let other = async {
            tokio::task::yield_now().await;
            note("other", "admit", true, 7);
        };
        let answering = noting(async {
            note("a", "deny", false, 1);
            tokio::task::yield_now().await;
            note("b", "admit", true, 2);
            5
        });
        let ((), (answer, noted)) = tokio::join!(other, answering);
        note("after", "admit", true, 1);
        let first = Some(("deny", Box::from("a")));
        assert_eq!((answer, noted), (5, Noted { first, admitted: 2, denied: 1 }));
    }
}
