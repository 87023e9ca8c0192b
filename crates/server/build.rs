//! Builds the program again when the page of the admin door was.

use std::path::Path;

fn main() {
    // Cargo takes a folder that is not there for one that changes all the time. Where it cannot be made, that is what is left.
    if Path::new("../../web").is_dir() {
        let _ = std::fs::create_dir_all("../../web/dist");
    }
    println!("cargo::rerun-if-changed=../../web/dist");
}
