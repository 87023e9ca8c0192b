//! What clients may rely on in answers (H1 to H6), and what the answers of our peers get wrong.
#![cfg(feature = "policy")]
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

#[path = "answers/admissions.rs"]
mod admissions;
#[path = "no_allocation/counting_allocator.rs"]
mod counting_allocator;
#[path = "answers/denials.rs"]
mod denials;
#[path = "answers/guide.rs"]
mod guide;
#[path = "answers/properties.rs"]
mod properties;
#[path = "answers/refusals.rs"]
mod refusals;
#[path = "answers/remote_calls.rs"]
mod remote_calls;
#[path = "answers/shadows.rs"]
mod shadows;
#[path = "answers/told.rs"]
mod told;
