-- The filing room on SQLite: rules, versions, standing orders, operations, tokens, the audit trail.
-- The same tables as ../postgres/0001_filing_room.sql. Times are UTC as text that sorts: 2026-11-16T05:00:00.000000Z. Longest texts are those of src/limits.rs.

-- Plain rows, for whoever writes SQL: one limit each.
CREATE TABLE rate_limit_rules (
    rule_id INTEGER PRIMARY KEY AUTOINCREMENT,
    key_pattern TEXT NOT NULL CHECK (length(CAST(key_pattern AS BLOB)) BETWEEN 1 AND 512),
    scope TEXT NOT NULL CHECK (length(CAST(scope AS BLOB)) BETWEEN 1 AND 64),
    rate_per_second NUMERIC NOT NULL CHECK (typeof(rate_per_second) IN ('integer', 'real') AND rate_per_second > 0 AND rate_per_second <= 1000000000000),
    burst_capacity NUMERIC NOT NULL CHECK (typeof(burst_capacity) IN ('integer', 'real') AND burst_capacity > 0 AND burst_capacity <= 1000000000000),
    plan TEXT CHECK (length(CAST(plan AS BLOB)) BETWEEN 1 AND 128),
    is_active BOOLEAN NOT NULL DEFAULT TRUE CHECK (is_active IN (0, 1)),
    description TEXT CHECK (length(CAST(description AS BLOB)) BETWEEN 0 AND 1024),
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z')
        CHECK (created_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]*Z'
            AND date(substr(created_at, 1, 10), '+0 days') = substr(created_at, 1, 10) AND substr(created_at, 12, 2) < '24'
            AND substr(created_at, 20) NOT GLOB '*[^0-9.Z]*'),
    updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z')
        CHECK (updated_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]*Z'
            AND date(substr(updated_at, 1, 10), '+0 days') = substr(updated_at, 1, 10) AND substr(updated_at, 12, 2) < '24'
            AND substr(updated_at, 20) NOT GLOB '*[^0-9.Z]*')
);

-- A missing plan is one, too: there is one row without plan for each pattern.
CREATE UNIQUE INDEX rate_limit_rules_once ON rate_limit_rules (key_pattern, COALESCE(plan, ''));

-- Full rules and groups, as a policy file would say them.
CREATE TABLE tollgate_entries (
    name TEXT PRIMARY KEY NOT NULL CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 128),
    text TEXT NOT NULL CHECK (length(CAST(text AS BLOB)) BETWEEN 1 AND 65536),
    is_active BOOLEAN NOT NULL DEFAULT TRUE CHECK (is_active IN (0, 1)),
    description TEXT CHECK (length(CAST(description AS BLOB)) BETWEEN 0 AND 1024),
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z')
        CHECK (created_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]*Z'
            AND date(substr(created_at, 1, 10), '+0 days') = substr(created_at, 1, 10) AND substr(created_at, 12, 2) < '24'
            AND substr(created_at, 20) NOT GLOB '*[^0-9.Z]*'),
    updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z')
        CHECK (updated_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]*Z'
            AND date(substr(updated_at, 1, 10), '+0 days') = substr(updated_at, 1, 10) AND substr(updated_at, 12, 2) < '24'
            AND substr(updated_at, 20) NOT GLOB '*[^0-9.Z]*')
);

-- Every state of entries and rows; the whole of it as JSON, and the SHA-256 of that.
CREATE TABLE tollgate_versions (
    version INTEGER PRIMARY KEY NOT NULL CHECK (version > 0),
    author TEXT NOT NULL CHECK (length(CAST(author AS BLOB)) BETWEEN 1 AND 128),
    comment TEXT NOT NULL CHECK (length(CAST(comment AS BLOB)) BETWEEN 0 AND 1024),
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z')
        CHECK (created_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]*Z'
            AND date(substr(created_at, 1, 10), '+0 days') = substr(created_at, 1, 10) AND substr(created_at, 12, 2) < '24'
            AND substr(created_at, 20) NOT GLOB '*[^0-9.Z]*'),
    rule_set TEXT NOT NULL CHECK (length(CAST(rule_set AS BLOB)) BETWEEN 1 AND 8388608),
    hash TEXT NOT NULL CHECK (length(CAST(hash AS BLOB)) BETWEEN 1 AND 64)
);

-- Standing orders. One that is revoked or past its expiry is nothing.
CREATE TABLE tollgate_orders (
    order_id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL CHECK (kind IN ('block', 'allow', 'override', 'kill_switch', 'mode')),
    rule TEXT CHECK (length(CAST(rule AS BLOB)) BETWEEN 1 AND 128),
    who_kind TEXT CHECK (who_kind IN ('user', 'address', 'network', 'key')),
    who TEXT CHECK (length(CAST(who AS BLOB)) BETWEEN 1 AND 512),
    rate TEXT CHECK (length(CAST(rate AS BLOB)) BETWEEN 1 AND 64),
    burst TEXT CHECK (length(CAST(burst AS BLOB)) BETWEEN 1 AND 64),
    mode TEXT CHECK (mode IN ('shadow', 'enforce', 'off')),
    reason TEXT NOT NULL CHECK (length(CAST(reason AS BLOB)) BETWEEN 1 AND 1024),
    author TEXT NOT NULL CHECK (length(CAST(author AS BLOB)) BETWEEN 1 AND 128),
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z')
        CHECK (created_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]*Z'
            AND date(substr(created_at, 1, 10), '+0 days') = substr(created_at, 1, 10) AND substr(created_at, 12, 2) < '24'
            AND substr(created_at, 20) NOT GLOB '*[^0-9.Z]*'),
    expires_at TEXT
        CHECK (expires_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]*Z'
            AND date(substr(expires_at, 1, 10), '+0 days') = substr(expires_at, 1, 10) AND substr(expires_at, 12, 2) < '24'
            AND substr(expires_at, 20) NOT GLOB '*[^0-9.Z]*'),
    revoked_at TEXT
        CHECK (revoked_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]*Z'
            AND date(substr(revoked_at, 1, 10), '+0 days') = substr(revoked_at, 1, 10) AND substr(revoked_at, 12, 2) < '24'
            AND substr(revoked_at, 20) NOT GLOB '*[^0-9.Z]*'),
    revoked_by TEXT CHECK (length(CAST(revoked_by AS BLOB)) BETWEEN 1 AND 128)
);

CREATE INDEX tollgate_orders_standing ON tollgate_orders (order_id) WHERE revoked_at IS NULL;

-- Operations on buckets, for every instance to do once.
CREATE TABLE tollgate_operations (
    operation_id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL CHECK (kind IN ('reset', 'grant')),
    rule TEXT NOT NULL CHECK (length(CAST(rule AS BLOB)) BETWEEN 1 AND 128),
    key TEXT NOT NULL CHECK (length(CAST(key AS BLOB)) BETWEEN 1 AND 512),
    amount TEXT CHECK (length(CAST(amount AS BLOB)) BETWEEN 1 AND 64),
    author TEXT NOT NULL CHECK (length(CAST(author AS BLOB)) BETWEEN 1 AND 128),
    reason TEXT NOT NULL CHECK (length(CAST(reason AS BLOB)) BETWEEN 1 AND 1024),
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z')
        CHECK (created_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]*Z'
            AND date(substr(created_at, 1, 10), '+0 days') = substr(created_at, 1, 10) AND substr(created_at, 12, 2) < '24'
            AND substr(created_at, 20) NOT GLOB '*[^0-9.Z]*')
);

-- Tokens of the admin door: of each secret its SHA-256 alone.
CREATE TABLE tollgate_tokens (
    token_id TEXT PRIMARY KEY NOT NULL CHECK (length(CAST(token_id AS BLOB)) BETWEEN 1 AND 64),
    name TEXT NOT NULL CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 128),
    role TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z')
        CHECK (created_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]*Z'
            AND date(substr(created_at, 1, 10), '+0 days') = substr(created_at, 1, 10) AND substr(created_at, 12, 2) < '24'
            AND substr(created_at, 20) NOT GLOB '*[^0-9.Z]*'),
    expires_at TEXT
        CHECK (expires_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]*Z'
            AND date(substr(expires_at, 1, 10), '+0 days') = substr(expires_at, 1, 10) AND substr(expires_at, 12, 2) < '24'
            AND substr(expires_at, 20) NOT GLOB '*[^0-9.Z]*'),
    revoked_at TEXT
        CHECK (revoked_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]*Z'
            AND date(substr(revoked_at, 1, 10), '+0 days') = substr(revoked_at, 1, 10) AND substr(revoked_at, 12, 2) < '24'
            AND substr(revoked_at, 20) NOT GLOB '*[^0-9.Z]*'),
    last_used_at TEXT
        CHECK (last_used_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]*Z'
            AND date(substr(last_used_at, 1, 10), '+0 days') = substr(last_used_at, 1, 10) AND substr(last_used_at, 12, 2) < '24'
            AND substr(last_used_at, 20) NOT GLOB '*[^0-9.Z]*')
);

-- Who changed what, when and why.
CREATE TABLE tollgate_audit (
    audit_id INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z')
        CHECK (at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]*Z'
            AND date(substr(at, 1, 10), '+0 days') = substr(at, 1, 10) AND substr(at, 12, 2) < '24'
            AND substr(at, 20) NOT GLOB '*[^0-9.Z]*'),
    who TEXT NOT NULL CHECK (length(CAST(who AS BLOB)) BETWEEN 1 AND 128),
    action TEXT NOT NULL CHECK (length(CAST(action AS BLOB)) BETWEEN 1 AND 128),
    target TEXT NOT NULL CHECK (length(CAST(target AS BLOB)) BETWEEN 0 AND 1024),
    before TEXT CHECK (length(CAST(before AS BLOB)) BETWEEN 0 AND 65536),
    after TEXT CHECK (length(CAST(after AS BLOB)) BETWEEN 0 AND 65536),
    reason TEXT CHECK (length(CAST(reason AS BLOB)) BETWEEN 0 AND 1024),
    source_address TEXT CHECK (length(CAST(source_address AS BLOB)) BETWEEN 1 AND 64)
);

-- One number, raised by every change to entries, rows, orders and operations: cheap to look at.
CREATE TABLE tollgate_revision (
    is_only BOOLEAN PRIMARY KEY NOT NULL DEFAULT TRUE CHECK (is_only),
    revision INTEGER NOT NULL
);

INSERT INTO tollgate_revision (revision) VALUES (1);

CREATE TRIGGER rate_limit_rules_insert_raises AFTER INSERT ON rate_limit_rules BEGIN
    UPDATE tollgate_revision SET revision = revision + 1;
END;

CREATE TRIGGER rate_limit_rules_update_raises AFTER UPDATE ON rate_limit_rules BEGIN
    UPDATE tollgate_revision SET revision = revision + 1;
END;

CREATE TRIGGER rate_limit_rules_delete_raises AFTER DELETE ON rate_limit_rules BEGIN
    UPDATE tollgate_revision SET revision = revision + 1;
END;

CREATE TRIGGER tollgate_entries_insert_raises AFTER INSERT ON tollgate_entries BEGIN
    UPDATE tollgate_revision SET revision = revision + 1;
END;

CREATE TRIGGER tollgate_entries_update_raises AFTER UPDATE ON tollgate_entries BEGIN
    UPDATE tollgate_revision SET revision = revision + 1;
END;

CREATE TRIGGER tollgate_entries_delete_raises AFTER DELETE ON tollgate_entries BEGIN
    UPDATE tollgate_revision SET revision = revision + 1;
END;

CREATE TRIGGER tollgate_orders_insert_raises AFTER INSERT ON tollgate_orders BEGIN
    UPDATE tollgate_revision SET revision = revision + 1;
END;

CREATE TRIGGER tollgate_orders_update_raises AFTER UPDATE ON tollgate_orders BEGIN
    UPDATE tollgate_revision SET revision = revision + 1;
END;

CREATE TRIGGER tollgate_orders_delete_raises AFTER DELETE ON tollgate_orders BEGIN
    UPDATE tollgate_revision SET revision = revision + 1;
END;

CREATE TRIGGER tollgate_operations_insert_raises AFTER INSERT ON tollgate_operations BEGIN
    UPDATE tollgate_revision SET revision = revision + 1;
END;

CREATE TRIGGER tollgate_operations_update_raises AFTER UPDATE ON tollgate_operations BEGIN
    UPDATE tollgate_revision SET revision = revision + 1;
END;

CREATE TRIGGER tollgate_operations_delete_raises AFTER DELETE ON tollgate_operations BEGIN
    UPDATE tollgate_revision SET revision = revision + 1;
END;

CREATE TRIGGER rate_limit_rules_updated_at AFTER UPDATE ON rate_limit_rules WHEN NEW.updated_at IS OLD.updated_at BEGIN
    UPDATE rate_limit_rules SET updated_at = strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z' WHERE rule_id = NEW.rule_id;
END;

CREATE TRIGGER tollgate_entries_updated_at AFTER UPDATE ON tollgate_entries WHEN NEW.updated_at IS OLD.updated_at BEGIN
    UPDATE tollgate_entries SET updated_at = strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z' WHERE name = NEW.name;
END;
