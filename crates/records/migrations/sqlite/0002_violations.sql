-- The violation log on SQLite: denials by sampling, and their true counts.
-- The same tables as ../postgres/0002_violations.sql. Texts are cut to the maxima of src/violations/violation_row.rs before they come here.

-- A row stands for `sampled_for` denials of its key: itself, and those since the row before that were only counted.
CREATE TABLE rate_limit_violations (
    violation_id INTEGER PRIMARY KEY AUTOINCREMENT,
    bucket_key TEXT NOT NULL,
    user_id TEXT,
    ip_address TEXT,
    endpoint TEXT,
    requested_at TEXT NOT NULL,
    tokens_at_time NUMERIC NOT NULL,
    rule_id TEXT NOT NULL,
    cost NUMERIC NOT NULL,
    reason TEXT NOT NULL,
    door TEXT NOT NULL,
    sampled_for INTEGER NOT NULL DEFAULT 1
);

CREATE INDEX rate_limit_violations_by_user ON rate_limit_violations (user_id, requested_at DESC, violation_id DESC);
CREATE INDEX rate_limit_violations_by_address ON rate_limit_violations (ip_address, requested_at DESC, violation_id DESC);
CREATE INDEX rate_limit_violations_by_rule ON rate_limit_violations (rule_id, requested_at DESC, violation_id DESC);
CREATE INDEX rate_limit_violations_by_time ON rate_limit_violations (requested_at, violation_id);

-- True counts: denied = stored + sampled_out + dropped, once nothing is on its way.
CREATE TABLE tollgate_violation_totals (
    rule TEXT NOT NULL,
    hour TEXT NOT NULL,
    denied INTEGER NOT NULL,
    stored INTEGER NOT NULL,
    sampled_out INTEGER NOT NULL,
    dropped INTEGER NOT NULL,
    PRIMARY KEY (rule, hour)
);

CREATE INDEX tollgate_violation_totals_by_hour ON tollgate_violation_totals (hour);

-- The last batch of each program that writes: one whose answer was lost is not written twice.
CREATE TABLE tollgate_violation_writers (
    writer TEXT PRIMARY KEY NOT NULL,
    batch INTEGER NOT NULL,
    written_at TEXT NOT NULL
);
