//! `TOLLGATE.CHECK field value [field value …]`: the policy decides a described request. It decides nothing itself.

use super::args::Args;
use super::described::Described;
use super::peer::Peer;
use super::reply::error;
use super::throttle::Throttle;

/// `TOLLGATE.CHECK`: has at least one argument.
pub(super) async fn check(
    peer: &Peer,
    args: &Args<'_, '_>,
    engine: &mut (impl Throttle + Send),
    output: &mut Vec<u8>,
) {
    let told = match Described::read(args) {
        Ok(request) => engine.check(&request).await,
        Err(fault) => Err(fault.to_string()),
    };
    match told {
        Ok(told) => told.write(peer.protocol, output),
        Err(fault) => error(output, &[b"ERR ", fault.as_bytes()]),
    }
}
