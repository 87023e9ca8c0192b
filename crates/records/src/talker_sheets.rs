//! What instances tell each other of who talks most: a sheet of text each, of seconds ago. It is nobody's change: no revision, no news, no line of
//! the audit trail. What stands in a sheet is the affair of those who write and read it.

use std::time::Duration;

use crate::{
    NAME_BYTES_MAX, Records, RecordsError, TALKER_SHEET_BYTES_MAX, TALKER_SHEETS_MAX, Timestamp, limits,
};

/// Sheets that are older are forgotten: who wrote them has ended.
const KEPT_FOR: Duration = Duration::from_mins(1);
/// By how much the clock of another machine may be ahead before its sheets are passed over: they would seem new long after it has ended.
const AHEAD_MAX: Duration = Duration::from_mins(1);

const WRITE_SQL: &str = "INSERT INTO tollgate_talkers (instance, written_at, sheet) VALUES ($1, $2, $3) \
    ON CONFLICT (instance) DO UPDATE SET written_at = excluded.written_at, sheet = excluded.sheet";
const FORGET_SQL: &str = "DELETE FROM tollgate_talkers WHERE written_at < $1";
const READ_SQL: &str = "SELECT sheet FROM tollgate_talkers \
    WHERE instance <> $1 AND written_at >= $2 AND written_at <= $3 ORDER BY written_at DESC, instance LIMIT $4";

impl Records {
    /// Puts an instance's sheet in the place of its last one, with the time of this machine, and forgets sheets that are older than a minute. At most
    /// [`TALKER_SHEET_BYTES_MAX`] bytes. The instance is a name that no other has, as of [`process_name`](crate::process_name).
    pub async fn share_talkers(&self, instance: &str, sheet: &str) -> Result<(), RecordsError> {
        limits::text("instance", instance, NAME_BYTES_MAX)?;
        limits::text("sheet", sheet, TALKER_SHEET_BYTES_MAX)?;
        self.within(async {
            let mut session = self.write().await?;
            let now = Timestamp::now();
            session.execute(WRITE_SQL, &[instance.into(), now.into(), sheet.into()]).await?;
            session.execute(FORGET_SQL, &[now.before(KEPT_FOR).into()]).await?;
            session.commit().await
        })
        .await
    }

    /// The sheets of all instances but one that are not older than this, newest first; at most [`TALKER_SHEETS_MAX`]. Those whose time is more than
    /// a minute ahead of this machine's are left out.
    pub async fn shared_talkers(
        &self,
        besides: &str,
        not_before: Timestamp,
    ) -> Result<Vec<String>, RecordsError> {
        self.within(async {
            let mut session = self.read().await?;
            let not_after = Timestamp::now().after(AHEAD_MAX);
            let limit = i64::try_from(TALKER_SHEETS_MAX).unwrap_or(i64::MAX);
            let asked = [besides.into(), not_before.into(), not_after.into(), limit.into()];
            let rows = session.rows(READ_SQL, &asked).await?;
            // Text that is none is whoever reads it's to pass over, and hides no others.
            rows.iter().map(|row| row.text("sheet").map(Option::unwrap_or_default)).collect()
        })
        .await
    }
}
