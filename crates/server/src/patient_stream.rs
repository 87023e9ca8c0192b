//! A connection whose other end must make progress: one that says nothing, or does not take its answer, for too long is given up.
//!
//! Costs nothing while there is progress: the timer is not set anew by every read, so time-outs are between one and two times
//! as long as they are said to be. One byte now and then is no progress: what is in reading may be the caller's to say, and in writing
//! it is an answer that was taken whole, or a least rate. Whoever writes must flush: that is how it is known that all was taken.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// What the other end must take of a long answer, in bytes per second.
const TAKEN_BYTES_PER_SECOND_MIN: u64 = 16 * 1_024;

/// A connection with time-outs.
#[derive(Debug)]
pub(crate) struct PatientStream<S> {
    stream: S,
    reading: Patience,
    writing: Patience,
}

/// How long one end waits for the other.
#[derive(Debug)]
struct Patience {
    limit: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    progress: Progress,
}

/// Whether there was progress since somebody asked.
#[derive(Debug)]
enum Progress {
    /// Bytes came or went.
    OfBytes(bool),
    /// The caller says so; or so many bytes went the other way: who takes a long answer need not ask meanwhile.
    Told { was_made: Arc<AtomicBool>, written: u128 },
    /// All that there was to say was taken at some time, or so many bytes.
    OfAnswers { was_all_taken: bool, bytes: u128 },
}

impl Progress {
    const OF_ANSWERS: Progress = Progress::OfAnswers { was_all_taken: false, bytes: 0 };

    fn note_bytes(&mut self, count: usize) {
        match self {
            Progress::OfBytes(was_made) => *was_made = true,
            Progress::Told { .. } => {}
            Progress::OfAnswers { bytes, .. } => *bytes = bytes.saturating_add(count as u128),
        }
    }

    /// Notes bytes that went the other way.
    fn note_written(&mut self, count: usize) {
        if let Progress::Told { written, .. } = self {
            *written = written.saturating_add(count as u128);
        }
    }

    fn note_all_taken(&mut self) {
        if let Progress::OfAnswers { was_all_taken, .. } = self {
            *was_all_taken = true;
        }
    }

    /// Whether there was, in the last `time`.
    fn take(&mut self, time: Duration) -> bool {
        match self {
            Progress::OfBytes(was_made) => std::mem::take(was_made),
            Progress::Told { was_made, written } => {
                let is_fast = is_fast(std::mem::take(written), time);
                was_made.swap(false, Ordering::Relaxed) || is_fast
            }
            Progress::OfAnswers { was_all_taken, bytes } => {
                let was_made = *was_all_taken || is_fast(*bytes, time);
                *self = Progress::OF_ANSWERS;
                was_made
            }
        }
    }
}

/// Whether so many bytes in so long are the least rate.
pub(crate) fn is_fast(bytes: u128, time: Duration) -> bool {
    bytes.saturating_mul(1_000) >= u128::from(TAKEN_BYTES_PER_SECOND_MIN) * time.as_millis()
}

impl<S> PatientStream<S> {
    /// Gives up reading when nothing came for `read`, and writing when an answer was neither taken in `write` nor at the least rate.
    pub(crate) fn new(stream: S, read: Duration, write: Duration) -> PatientStream<S> {
        let (reading, writing) = (Progress::OfBytes(false), Progress::OF_ANSWERS);
        PatientStream {
            stream,
            reading: Patience::new(read, reading),
            writing: Patience::new(write, writing),
        }
    }

    /// Gives up reading when nobody has set `progress` for `limit` and no answer was taken at the least rate meanwhile, and writing when
    /// an answer was neither taken in as long nor at that rate.
    pub(crate) fn told(stream: S, limit: Duration, progress: Arc<AtomicBool>) -> PatientStream<S> {
        let (reading, writing) = (Progress::Told { was_made: progress, written: 0 }, Progress::OF_ANSWERS);
        PatientStream {
            stream,
            reading: Patience::new(limit, reading),
            writing: Patience::new(limit, writing),
        }
    }
}

impl Patience {
    fn new(limit: Duration, progress: Progress) -> Patience {
        Patience { limit, timer: None, progress }
    }

    /// What a read or write came to: an error if it has been waited for too long.
    fn judge<T>(&mut self, result: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if result.is_ready() {
            return result;
        }
        ready!(self.poll_spent(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    fn poll_spent(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let Patience { limit, timer, progress } = self;
            let running = timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(*limit)));
            ready!(running.as_mut().poll(cx));
            *timer = None;
            if !progress.take(*limit) {
                return Poll::Ready(());
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for PatientStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if result.is_ready() {
            self.reading.progress.note_bytes(1);
        }
        self.reading.judge(result, cx)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for PatientStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(cx, bytes);
        if let Poll::Ready(Ok(count)) = &result {
            self.writing.progress.note_bytes(*count);
            self.reading.progress.note_written(*count);
        }
        self.writing.judge(result, cx)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_flush(cx);
        if result.is_ready() {
            self.writing.progress.note_all_taken();
        }
        self.writing.judge(result, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.writing.judge(result, cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn who_says_nothing_is_given_up() {
        let (_silent, ours) = duplex(64);
        let mut ours = PatientStream::new(ours, SECOND, SECOND);
        assert_eq!(ours.read_u8().await.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn who_keeps_talking_is_heard() {
        let (mut theirs, ours) = duplex(64);
        tokio::spawn(async move {
            for byte in 0..20 {
                tokio::time::sleep(SECOND * 9 / 10).await;
                theirs.write_u8(byte).await.unwrap();
            }
        });
        let mut ours = PatientStream::new(ours, SECOND, SECOND);
        for byte in 0..20 {
            assert_eq!(ours.read_u8().await.unwrap(), byte);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_byte_now_and_then_is_no_progress_where_the_caller_says_what_is() {
        let (mut theirs, ours) = duplex(64);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(SECOND / 10).await;
                if theirs.write_u8(0).await.is_err() {
                    break;
                }
            }
        });
        let progress = Arc::new(AtomicBool::new(false));
        let mut ours = PatientStream::told(ours, SECOND, Arc::clone(&progress));
        for _ in 0..50 {
            progress.store(true, Ordering::Relaxed);
            ours.read_u8().await.unwrap();
        }
        let mut heard = 0;
        let error = loop {
            match ours.read_u8().await {
                Ok(_) => heard += 1,
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!((5..=20).contains(&heard), "{heard}");
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_a_long_answer_need_not_ask_meanwhile() {
        for (bytes, is_patient) in [(2_000, true), (1_000, false)] {
            let (theirs, ours) = duplex(64);
            let (mut taking, _asks_nothing) = tokio::io::split(theirs);
            tokio::spawn(async move {
                let mut taken = vec![0; bytes];
                while taking.read_exact(&mut taken).await.is_ok() {
                    tokio::time::sleep(SECOND / 10).await;
                }
            });
            let ours = PatientStream::told(ours, SECOND, Arc::default());
            let (mut reading, mut writing) = tokio::io::split(ours);
            tokio::spawn(async move { writing.write_all(&vec![0; 200_000]).await });
            let read = tokio::time::timeout(SECOND * 5, reading.read_u8()).await;
            assert_eq!(read.is_err(), is_patient, "{bytes}: {read:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_take_the_answer_is_given_up() {
        let (_deaf, ours) = duplex(64);
        let mut ours = PatientStream::new(ours, SECOND, SECOND);
        assert_eq!(ours.write_all(&[0; 65]).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    /// How it goes to send a long answer to who takes so many bytes every tenth of a second.
    async fn sent_to_who_takes(bytes: usize) -> io::Result<()> {
        let (mut theirs, ours) = duplex(64);
        tokio::spawn(async move {
            let mut taken = vec![0; bytes];
            loop {
                tokio::time::sleep(SECOND / 10).await;
                if theirs.read_exact(&mut taken).await.is_err() {
                    break;
                }
            }
        });
        let mut ours = PatientStream::new(ours, SECOND, SECOND);
        ours.write_all(&vec![0; 200_000]).await
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_a_long_answer_drop_by_drop_is_given_up() {
        for bytes in [1, 100, 1_500] {
            assert_eq!(
                sent_to_who_takes(bytes).await.unwrap_err().kind(),
                io::ErrorKind::TimedOut,
                "{bytes}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_a_long_answer_fast_enough_has_it_whole() {
        assert!(sent_to_who_takes(2_000).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_every_short_answer_whole_is_not_given_up() {
        let (mut theirs, ours) = duplex(64);
        tokio::spawn(async move {
            let mut taken = [0; 100];
            loop {
                tokio::time::sleep(SECOND * 9 / 10).await;
                if theirs.read_exact(&mut taken).await.is_err() {
                    break;
                }
            }
        });
        let mut ours = PatientStream::new(ours, SECOND, SECOND);
        for _ in 0..20 {
            ours.write_all(&[0; 100]).await.unwrap();
            ours.flush().await.unwrap();
        }
    }
}
