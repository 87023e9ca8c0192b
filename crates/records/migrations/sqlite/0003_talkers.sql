-- What instances tell each other of who talks most, on SQLite.
-- The same table as ../postgres/0003_talkers.sql. The longest text is that of src/limits.rs.

-- The last sheet of each program that runs. It raises no revision and is news to nobody: whoever wants to know looks.
CREATE TABLE tollgate_talkers (
    instance TEXT PRIMARY KEY NOT NULL CHECK (length(CAST(instance AS BLOB)) BETWEEN 1 AND 128),
    written_at TEXT NOT NULL,
    sheet TEXT NOT NULL CHECK (length(CAST(sheet AS BLOB)) BETWEEN 1 AND 262144)
);
