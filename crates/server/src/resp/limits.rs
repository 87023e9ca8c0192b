//! How much one connection may ask for, and keep waiting.

/// Most arguments of one request, the command's name among them.
const ARGS_MAX: usize = 1_024;
/// Longest argument, in bytes.
const BULK_BYTES_MAX: usize = 32 * 1_024;
/// Longest inline command, in bytes without its line end. Redis' own figure.
const INLINE_BYTES_MAX: usize = 64 * 1_024;
/// Longest request, in bytes with all its lengths and line ends.
const FRAME_BYTES_MAX: usize = 64 * 1_024 + 2;
/// Replies waiting to be sent, in bytes, beyond which no further request is looked at.
const OUTPUT_BYTES_MAX: usize = 256 * 1_024;
/// `CL.THROTTLE` requests in one call of the engine.
const BATCH_ASKS_MAX: usize = 1_024;
/// Maximum number of commands between `MULTI` and `EXEC`: one batch of the engine.
const TRANSACTION_COMMANDS_MAX: usize = BATCH_ASKS_MAX;
/// Maximum size of the commands between `MULTI` and `EXEC`, in bytes with 16 for each argument.
const TRANSACTION_BYTES_MAX: usize = 256 * 1_024;
/// Wrong passwords of one connection after which it is closed.
const WRONG_PASSWORDS_MAX: u32 = 5;
/// Longest key of a bucket, in bytes: what the library takes.
const KEY_BYTES_MAX: usize = 512;
/// Most arguments of a request before `AUTH`. Redis' own figure.
const UNAUTHENTICATED_ARGS_MAX: usize = 10;
/// Longest argument before `AUTH`, in bytes. Redis' own figure.
const UNAUTHENTICATED_BULK_BYTES_MAX: usize = 16 * 1_024;

/// The maxima of one connection.
///
/// An incomplete request waits in the caller's buffer, so a connection costs at most [`Limits::frame_bytes_max`] and one read there,
/// [`Limits::output_bytes_max`] and one reply in its output, and twice [`Limits::transaction_bytes_max`] in a queue. The reply to `EXEC` has at
/// most [`Limits::transaction_commands_max`] replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most arguments of one request, the command's name among them; more end the connection. 1,024 unless said otherwise.
    pub args_max: usize,
    /// Longest argument, in bytes; longer ones end the connection. 32 KiB unless said otherwise.
    pub bulk_bytes_max: usize,
    /// Longest inline command, in bytes without its line end; longer ones end the connection. 64 KiB unless said otherwise.
    pub inline_bytes_max: usize,
    /// Longest request, in bytes with all its lengths and line ends; longer ones end the connection. 64 KiB and a line end
    /// unless said otherwise.
    pub frame_bytes_max: usize,
    /// Replies waiting to be sent, in bytes, beyond which no further request is looked at. The last reply may run over it.
    /// 256 KiB unless said otherwise.
    pub output_bytes_max: usize,
    /// `CL.THROTTLE` requests in one call of the engine. 1,024 unless said otherwise; 0 is taken as 1.
    pub batch_asks_max: usize,
    /// Maximum number of commands between `MULTI` and `EXEC`. A further command gets an error reply, and `EXEC` aborts. Default: 1,024.
    pub transaction_commands_max: usize,
    /// Maximum size of the commands between `MULTI` and `EXEC`: the bytes of their arguments, and 16 for each argument. A command beyond
    /// it gets an error reply, and `EXEC` aborts. Default: 256 KiB.
    pub transaction_bytes_max: usize,
    /// Wrong passwords in a row after which the connection is closed. Default: 5.
    pub wrong_passwords_max: u32,
    /// Longest key of a bucket, in bytes; longer ones get an error reply. 512 unless said otherwise.
    pub key_bytes_max: usize,
    /// [`Limits::args_max`] of a connection that has yet to give the password. 10 unless said otherwise.
    pub unauthenticated_args_max: usize,
    /// [`Limits::bulk_bytes_max`] of a connection that has yet to give the password. 16 KiB unless said otherwise.
    pub unauthenticated_bulk_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            args_max: ARGS_MAX,
            bulk_bytes_max: BULK_BYTES_MAX,
            inline_bytes_max: INLINE_BYTES_MAX,
            frame_bytes_max: FRAME_BYTES_MAX,
            output_bytes_max: OUTPUT_BYTES_MAX,
            batch_asks_max: BATCH_ASKS_MAX,
            transaction_commands_max: TRANSACTION_COMMANDS_MAX,
            transaction_bytes_max: TRANSACTION_BYTES_MAX,
            wrong_passwords_max: WRONG_PASSWORDS_MAX,
            key_bytes_max: KEY_BYTES_MAX,
            unauthenticated_args_max: UNAUTHENTICATED_ARGS_MAX,
            unauthenticated_bulk_bytes_max: UNAUTHENTICATED_BULK_BYTES_MAX,
        }
    }
}
