//! The log as a file.

use std::pin::pin;

use futures_util::TryStreamExt as _;
use serde_json::Value;
use tollgate_records::{ExportFormat, MicroTokens, Records, Violation, ViolationFilter};

use super::{denial, log, rows, second};
use crate::databases::Place;

on_both!(
    csv_is_one_line_for_each_row_and_harmless_in_a_spreadsheet,
    json_lines_say_what_a_query_says,
    a_long_export_comes_in_pieces,
);

async fn whole(records: &Records, format: ExportFormat) -> String {
    let pieces = pin!(records.export_violations(ViolationFilter::default(), format).into_stream());
    pieces.try_collect().await.unwrap()
}

async fn csv_is_one_line_for_each_row_and_harmless_in_a_spreadsheet(place: Place) {
    let records = place.open().await;
    let header = "violation_id,requested_at,rule,bucket_key,user,address,endpoint,tokens_at_time,cost,reason,door,sampled_for\r\n";
    assert_eq!(whole(&records, ExportFormat::Csv).await, header, "nothing but the header");
    let log = log(&records);
    log.note(Violation {
        user: Some("=HYPERLINK(\"http://203.0.113.9\")"),
        endpoint: Some("/a,b\r\n@c"),
        tokens: MicroTokens(-500_000),
        ..denial("login", "-2+3", second(0))
    });
    log.flush().await.unwrap();
    let id = rows(&records).await[0].violation_id.unwrap();
    let line = format!(
        "{id},{},\"login\",\"'-2+3\",\"'=HYPERLINK(\"\"http://203.0.113.9\"\")\",,\"/a,b\r\n@c\",-0.5,1,\"rate_limited\",\"http\",1\r\n",
        second(0)
    );
    assert_eq!(whole(&records, ExportFormat::Csv).await, format!("{header}{line}"));
}

async fn json_lines_say_what_a_query_says(place: Place) {
    let records = place.open().await;
    let log = log(&records);
    for key in ["plain", "two\nlines", "\u{1b}[31mred", "quote\"and\\slash"] {
        log.note(Violation { user: Some(key), ..denial("login", key, second(0)) });
    }
    log.flush().await.unwrap();
    let text = whole(&records, ExportFormat::JsonLines).await;
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let rows: Vec<Value> =
        rows(&records).await.iter().map(|row| serde_json::to_value(row).unwrap()).collect();
    assert_eq!(lines, rows);
    assert_eq!(lines[0]["tokens_at_time"], 0.25);
}

async fn a_long_export_comes_in_pieces(place: Place) {
    let records = place.open().await;
    let log = log(&records);
    for key in 0..2_500 {
        log.note(denial("login", &format!("user:{key}"), second(key / 1_000)));
    }
    log.flush().await.unwrap();
    let mut export = records.export_violations(ViolationFilter::default(), ExportFormat::JsonLines);
    let mut pieces = Vec::new();
    while let Some(piece) = export.next_piece().await.unwrap() {
        pieces.push(piece.lines().count());
    }
    assert_eq!(pieces, [1_000, 1_000, 500]);
}
