//! The load generator: one thread, many connections, one kind of request.
//!
//! Closed loop: every connection has a batch under way and sends the next when all replies are there. Open loop: requests are sent
//! at their times whatever the server does, and a late answer counts from when its request was due. Both count what the replies say.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use super::dialect::{Dialect, Reply};
use crate::problem::Problem;
use crate::splitmix::SplitMix;
use crate::stopwatch::instant;

const READ_BYTES: usize = 16 * 1024;
/// A server that says nothing for so long is given up.
const PATIENCE: Duration = Duration::from_secs(20);

/// What one run brought.
#[derive(Debug, Default, Clone)]
pub(crate) struct Run {
    pub(crate) admitted: u64,
    pub(crate) denied: u64,
    pub(crate) errors: u64,
    pub(crate) seconds: f64,
    /// Of batches (closed) or requests (open), in microseconds.
    latencies_us: Vec<f64>,
}

/// Connections to one server.
pub(crate) struct Generator {
    dialect: Dialect,
    poll: Poll,
    events: Events,
    connections: Vec<Connection>,
    random: SplitMix,
    keys: u32,
}

struct Connection {
    stream: TcpStream,
    input: Vec<u8>,
    output: Vec<u8>,
    /// When each request or batch under way was sent, or due, and how many replies it still lacks.
    under_way: VecDeque<(Instant, u32)>,
}

impl Run {
    pub(crate) fn per_second(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
        let replies = (self.admitted + self.denied) as f64;
        replies / self.seconds
    }

    /// The latency that so many percent stay below.
    pub(crate) fn percentile_us(&self, percent: usize) -> f64 {
        let mut sorted = self.latencies_us.clone();
        sorted.sort_by(f64::total_cmp);
        let at = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
        sorted.get(at).copied().unwrap_or(f64::NAN)
    }

    fn count(&mut self, reply: Reply) {
        match reply {
            Reply::Admitted => self.admitted += 1,
            Reply::Denied => self.denied += 1,
            Reply::Error => self.errors += 1,
        }
    }
}

impl Generator {
    /// Connects. Keys are drawn from the first `keys`.
    pub(crate) fn connect(
        server: SocketAddr,
        dialect: Dialect,
        connections: usize,
        keys: u32,
        seed: u64,
    ) -> Result<Self, Problem> {
        let failed = |error| Problem::failed(format!("cannot wait for {server}: {error}"));
        let poll = Poll::new().map_err(failed)?;
        let events = Events::with_capacity(connections);
        let connections =
            (0..connections).map(|_| Connection::open(server)).collect::<Result<Vec<_>, _>>()?;
        let mut generator =
            Generator { dialect, poll, events, connections, random: SplitMix::new(seed), keys };
        for (at, connection) in generator.connections.iter_mut().enumerate() {
            let interest = Interest::READABLE | Interest::WRITABLE;
            generator
                .poll
                .registry()
                .register(&mut connection.stream, Token(at), interest)
                .map_err(failed)?;
        }
        Ok(generator)
    }

    /// Sends batches of `pipeline` requests for so long.
    pub(crate) fn closed_loop(&mut self, pipeline: u32, length: Duration) -> Result<Run, Problem> {
        let mut run = Run::default();
        let began = instant();
        let Generator { dialect, poll, events, connections, random, keys } = self;
        let mut open = connections.len();
        for connection in &mut *connections {
            connection.send_batch(dialect, *keys, random, pipeline)?;
        }
        while open > 0 {
            check_patience(began, length)?;
            wait(poll, events, Some(PATIENCE))?;
            for event in &*events {
                let connection = &mut connections[event.token().0];
                connection.flush()?;
                if !connection.receive(dialect, &mut run)? {
                    continue;
                }
                if began.elapsed_by_stopwatch() < length {
                    connection.send_batch(dialect, *keys, random, pipeline)?;
                } else {
                    open -= 1;
                }
            }
        }
        run.seconds = began.elapsed_by_stopwatch().as_secs_f64();
        Ok(run)
    }

    /// Sends so many requests per second for so long, one connection after the other.
    pub(crate) fn open_loop(&mut self, per_second: f64, length: Duration) -> Result<Run, Problem> {
        let mut run = Run::default();
        let began = instant();
        let Generator { dialect, poll, events, connections, random, keys } = self;
        let gap = Duration::from_secs_f64(1.0 / per_second);
        let (mut due, mut next) = (began, 0);
        loop {
            check_patience(began, length)?;
            let now = instant();
            while due <= now && due < began + length {
                let at = next % connections.len();
                let connection = &mut connections[at];
                dialect.write(*keys, random, &mut connection.output);
                connection.under_way.push_back((due, 1));
                connection.flush()?;
                next += 1;
                due += gap;
            }
            // Without sleeping: the next request is due in a few microseconds.
            wait(poll, events, Some(Duration::ZERO))?;
            for event in &*events {
                let connection = &mut connections[event.token().0];
                connection.flush()?;
                connection.receive(dialect, &mut run)?;
            }
            if due >= began + length && connections.iter().all(|connection| connection.under_way.is_empty()) {
                run.seconds = length.as_secs_f64();
                return Ok(run);
            }
        }
    }

    /// Asks once for every key, in order.
    pub(crate) fn fill(&mut self, pipeline: u32) -> Result<Run, Problem> {
        let (mut run, mut number) = (Run::default(), 0);
        let Generator { dialect, poll, events, connections, keys, .. } = self;
        let connection = &mut connections[0];
        while number < *keys {
            let batch = pipeline.min(*keys - number);
            for key in number..number + batch {
                dialect.write_key(key, &mut connection.output);
            }
            connection.under_way.push_back((instant(), batch));
            number += batch;
            let began = instant();
            while !connection.under_way.is_empty() {
                check_patience(began, Duration::ZERO)?;
                connection.flush()?;
                wait(poll, events, Some(PATIENCE))?;
                connection.receive(dialect, &mut run)?;
            }
        }
        Ok(run)
    }
}

/// Waits until something can be read or written.
fn wait(poll: &mut Poll, events: &mut Events, longest: Option<Duration>) -> Result<(), Problem> {
    match poll.poll(events, longest) {
        Err(error) if error.kind() != ErrorKind::Interrupted => {
            Err(Problem::failed(format!("cannot wait for a server: {error}")))
        }
        _ => Ok(()),
    }
}

fn check_patience(began: Instant, length: Duration) -> Result<(), Problem> {
    if began.elapsed_by_stopwatch() > length + PATIENCE {
        return Err(Problem::failed(
            "a server has not answered for 20 s; its log is in target/bench-servers",
        ));
    }
    Ok(())
}

/// Time that has passed, by the one file that reads clocks.
trait Elapsed {
    fn elapsed_by_stopwatch(&self) -> Duration;
}

impl Elapsed for Instant {
    fn elapsed_by_stopwatch(&self) -> Duration {
        instant() - *self
    }
}

impl Connection {
    fn open(server: SocketAddr) -> Result<Self, Problem> {
        let failed = |error| Problem::failed(format!("cannot connect to {server}: {error}"));
        let stream = std::net::TcpStream::connect(server).map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        stream.set_nonblocking(true).map_err(failed)?;
        Ok(Connection {
            stream: TcpStream::from_std(stream),
            input: Vec::new(),
            output: Vec::new(),
            under_way: VecDeque::new(),
        })
    }

    fn send_batch(
        &mut self,
        dialect: &Dialect,
        keys: u32,
        random: &mut SplitMix,
        pipeline: u32,
    ) -> Result<(), Problem> {
        for _ in 0..pipeline {
            dialect.write(keys, random, &mut self.output);
        }
        self.under_way.push_back((instant(), pipeline));
        self.flush()
    }

    /// Sends what can be sent now.
    fn flush(&mut self) -> Result<(), Problem> {
        while !self.output.is_empty() {
            match self.stream.write(&self.output) {
                Ok(sent) => _ = self.output.drain(..sent),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(Problem::failed(format!("a server hung up: {error}"))),
            }
        }
        Ok(())
    }

    /// Takes what has come; whether nothing is under way any more.
    fn receive(&mut self, dialect: &Dialect, run: &mut Run) -> Result<bool, Problem> {
        if self.under_way.is_empty() {
            return Ok(false);
        }
        let mut room = [0; READ_BYTES];
        loop {
            match self.stream.read(&mut room) {
                Ok(0) => return Err(Problem::failed("a server has closed a connection")),
                Ok(count) => self.input.extend_from_slice(&room[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(Problem::failed(format!("a server hung up: {error}"))),
            }
        }
        let mut used = 0;
        while let Some((length, reply)) = dialect.read(&self.input[used..]) {
            used += length;
            run.count(reply);
            let Some((since, lacks)) = self.under_way.front_mut() else {
                return Err(Problem::failed("a server has sent more replies than there were requests"));
            };
            *lacks -= 1;
            if *lacks == 0 {
                run.latencies_us.push((instant() - *since).as_secs_f64() * 1e6);
                self.under_way.pop_front();
            }
        }
        self.input.drain(..used);
        Ok(self.under_way.is_empty())
    }
}
