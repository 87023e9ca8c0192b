//! An axum server on a thread and a port of its own. It serves until the process ends.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread;

use axum::Router;
use axum::routing::get;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::runtime;

use super::layers;
use super::results::{GOVERNOR, NONE, TOLLGATE};
use crate::problem::Problem;

/// One route that answers `hello`, without a limiter, behind ours and behind the peer's.
pub(crate) fn start_all(burst: u32, addresses: u32) -> Result<[(&'static str, SocketAddr); 3], Problem> {
    let routes = || Router::new().route("/", get(async || "hello"));
    let ours = routes().route_layer(layers::tollgate(burst, true, addresses)?);
    let theirs = routes().route_layer(layers::governor(burst)?);
    Ok([(NONE, start(routes())?), (TOLLGATE, start(ours)?), (GOVERNOR, start(theirs)?)])
}

fn start(routes: Router) -> Result<SocketAddr, Problem> {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let served = runtime::Builder::new_current_thread().enable_io().build().and_then(|runtime| {
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await?;
                // Nobody may have stopped listening: `start` waits for this.
                let _ = tell.send(listener.local_addr());
                let listener = listener.tap_io(|socket| drop(socket.set_nodelay(true)));
                axum::serve(listener, routes.into_make_service_with_connect_info::<SocketAddr>()).await
            })
        });
        if let Err(error) = served {
            eprintln!("tower: a server stopped: {error}");
        }
    });
    let address = told.recv().map_err(|_| Problem::failed("a server did not start; see above"))?;
    address.map_err(|error| Problem::failed(format!("a server has no address: {error}")))
}
