//! Monitoring.
