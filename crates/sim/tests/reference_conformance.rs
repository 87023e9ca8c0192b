//! The reference passes the suite that is built upon it, and broken stores do not.

mod broken;

use broken::{Broken, Defect};
use tollgate_sim::conformance::{Reference, Verdict, run_all, runs};

#[test]
fn the_reference_conforms() {
    let report = run_all(Reference::new);
    assert!(report.conforms(), "{report}");
}

#[test]
fn a_store_with_a_defect_does_not_conform() {
    for defect in Defect::ALL {
        let broken = runs(|| Broken::new(*defect)).find(|(_, verdict)| matches!(verdict, Verdict::Broken(_)));
        assert!(broken.is_some(), "{defect:?} went unnoticed");
    }
}
