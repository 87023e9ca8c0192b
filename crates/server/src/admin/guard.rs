//! What is looked at before a request is: whom it was meant for, where it comes from, how often, and who asks.
//!
//! A page in somebody's browser can send requests here. It cannot send one that names another host than its own, so the host is one
//! that only we have ([`host`], against DNS rebinding); and it cannot hide that it is another site ([`origin`], against requests that
//! the person did not mean). Who comes by a cookie, which browsers send by themselves, must show that it is a page of ours that asks.

mod allowance;
mod bearer;
mod host;
mod media;
mod origin;
mod sign_in;

pub(super) use allowance::Allowance;
pub(super) use bearer::Bearer;
pub(crate) use host::Hosts;
pub(super) use host::check_host;
pub(super) use host::of_request as host_of;
pub(super) use media::check_media;
pub(super) use origin::check_origin;
pub(super) use sign_in::{ask_for_page, sign_in};
