//! What is promised of the admin API, over real connections and a real database.

mod authorisation;
mod buckets;
mod busy;
mod door;
mod events;
mod guarding;
mod hostile_texts;
mod logging;
mod neighbours;
mod orders;
mod page;
mod records_away;
mod reloading;
mod rule_changes;
mod rule_texts;
mod sessions;
mod simulate;
mod simulate_refused;
mod talking;
mod violations;
