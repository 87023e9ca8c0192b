-- What instances tell each other of who talks most, on PostgreSQL.
-- The same table as ../sqlite/0003_talkers.sql. The longest text is that of src/limits.rs.

-- The last sheet of each program that runs. It raises no revision and is news to nobody: whoever wants to know looks.
CREATE TABLE tollgate_talkers (
    instance TEXT PRIMARY KEY NOT NULL CHECK (octet_length(instance) BETWEEN 1 AND 128),
    written_at TIMESTAMPTZ NOT NULL,
    sheet TEXT NOT NULL CHECK (octet_length(sheet) BETWEEN 1 AND 262144)
);
