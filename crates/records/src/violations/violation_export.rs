//! Violations as a file, page by page: however many there are, one page is in memory.

use std::fmt;

use futures_util::Stream;
use futures_util::stream::try_unfold;

use super::{ViolationCursor, ViolationFilter, ViolationRecord, csv};
use crate::{PAGE_MAX, Records, RecordsError};

/// How an export is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// Comma-separated values (RFC 4180), UTF-8, with a header. A text that a spreadsheet could take for a formula has a `'` before it.
    Csv,
    /// One JSON object per line.
    JsonLines,
}

/// An export in the making, newest first. What is noted meanwhile is not in it.
pub struct ViolationExport {
    records: Records,
    filter: ViolationFilter,
    format: ExportFormat,
    next: Next,
}

/// What the next piece is.
#[derive(Debug, Clone, Copy)]
enum Next {
    First,
    After(ViolationCursor),
    Nothing,
}

impl ExportFormat {
    /// What HTTP calls it.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv; charset=utf-8; header=present",
            Self::JsonLines => "application/jsonl; charset=utf-8",
        }
    }
}

impl Records {
    /// Begins an export. Nothing is read before the first piece is asked for.
    pub fn export_violations(&self, filter: ViolationFilter, format: ExportFormat) -> ViolationExport {
        ViolationExport { records: self.clone(), filter, format, next: Next::First }
    }
}

impl ViolationExport {
    /// The next piece, of at most [`PAGE_MAX`] violations; `None` at the end. After an error the same piece can be asked for again.
    pub async fn next_piece(&mut self) -> Result<Option<String>, RecordsError> {
        let cursor = match self.next {
            Next::First => None,
            Next::After(cursor) => Some(cursor),
            Next::Nothing => return Ok(None),
        };
        let page = self.records.violations(&self.filter, cursor, PAGE_MAX).await?;
        let mut piece = String::new();
        if self.format == ExportFormat::Csv && cursor.is_none() {
            piece.push_str(csv::HEADER);
        }
        for violation in &page.violations {
            self.format.push_line(&mut piece, violation)?;
        }
        self.next = page.next.map_or(Next::Nothing, Next::After);
        Ok(Some(piece))
    }

    /// The pieces as a stream, which ends after an error.
    pub fn into_stream(self) -> impl Stream<Item = Result<String, RecordsError>> + Send {
        try_unfold(self, |mut export| async move {
            let piece = export.next_piece().await?;
            Ok(piece.map(|piece| (piece, export)))
        })
    }
}

impl ExportFormat {
    fn push_line(self, piece: &mut String, violation: &ViolationRecord) -> Result<(), RecordsError> {
        match self {
            Self::Csv => csv::push_line(piece, violation),
            Self::JsonLines => {
                let line = serde_json::to_string(violation)
                    .map_err(|error| RecordsError::Malformed { what: error.to_string() })?;
                piece.push_str(&line);
                piece.push('\n');
            }
        }
        Ok(())
    }
}

impl fmt::Debug for ViolationExport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ViolationExport")
            .field("filter", &self.filter)
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}
