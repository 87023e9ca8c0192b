use tollgate_core::Cost;

use super::*;
use crate::built_by_hand::header_fields;
use crate::request::RequestRoom;
use crate::{Facts, MethodSet};

fn plan(source: CostSource) -> CostPlan {
    CostPlan { source, default: Cost::tokens(2), min: Cost::micros(1), max: Cost::tokens(50) }
}

fn price_of(plan: &CostPlan, facts: &Facts<'_>) -> Price {
    price(plan, &Request::new(facts, &mut RequestRoom::default()))
}

/// The price of what a header says: its cost, and whether it was unusable.
fn said_by_header(value: &str) -> (Cost, bool) {
    let headers = header_fields(&[("x-cost", value)]);
    let facts = Facts { headers: &headers, ..Facts::new("GET", "/") };
    let price = price_of(&plan(CostSource::Header("x-cost".into())), &facts);
    (price.cost, price.was_unusable)
}

#[test]
fn a_number_is_read_to_the_micro_token() {
    for (text, micros) in [
        ("5", 5_000_000),
        ("0.5", 500_000),
        (".5", 500_000),
        ("5.", 5_000_000),
        ("0005.10", 5_100_000),
        ("0.000001", 1),
        ("0.1234561", 123_457),
        ("0.000000001", 1),
        ("49.999999", 49_999_999),
        ("0.3", 300_000),
    ] {
        assert_eq!(said_by_header(text), (Cost::micros(micros), false), "{text}");
    }
}

#[test]
fn what_is_no_number_costs_the_default_and_is_said_to_be_unusable() {
    for text in [
        "", " ", ".", "NaN", "nan", "inf", "-inf", "Infinity", "1e-9", "1e9", "-5", "-0", "0", "0.000",
        "000", "+5", "0x10", " 5", "5 ", "5\t", "1_000", "1,5", "5;6", "five", "\u{665}", "\u{ff15}",
        "5.5.5", "--5", "5\0",
    ] {
        assert_eq!(said_by_header(text), (Cost::tokens(2), true), "{text:?}");
    }
}

#[test]
fn a_huge_number_costs_the_most_and_never_wraps() {
    for text in
        ["51", "18446744073709551616", "18446744073710", &format!("1{}", "0".repeat(30)), &"9".repeat(5_000)]
    {
        assert_eq!(said_by_header(text), (Cost::tokens(50), false), "{text}");
    }
}

#[test]
fn a_small_number_costs_the_least() {
    let plan = CostPlan { min: Cost::ONE, ..plan(CostSource::Header("x-cost".into())) };
    let headers = header_fields(&[("x-cost", "0.000001")]);
    let price = price_of(&plan, &Facts { headers: &headers, ..Facts::new("GET", "/") });
    assert_eq!((price.cost, price.said), (Cost::ONE, Some(Cost::micros(1))));
}

#[test]
fn a_cost_that_is_absent_or_said_twice_is_the_default() {
    let plan = plan(CostSource::Header("x-cost".into()));
    assert!(price_of(&plan, &Facts::new("GET", "/")).was_unusable);
    let headers = header_fields(&[("x-cost", "1"), ("X-Cost", "9")]);
    let price = price_of(&plan, &Facts { headers: &headers, ..Facts::new("GET", "/") });
    assert_eq!((price.cost, price.was_unusable), (Cost::tokens(2), true));
}

#[test]
fn the_query_may_say_the_cost() {
    let plan = plan(CostSource::Query("n".into()));
    for (target, cost, was_unusable) in [
        ("/?n=7", 7, false),
        ("/?m=1&n=%37", 7, false),
        ("/?%6e=7", 7, false),
        ("/?n=1&n=7", 2, true),
        ("/?n=+7", 2, true),
        ("/?n", 2, true),
        ("/#?n=7", 2, true),
        ("/", 2, true),
    ] {
        let price = price_of(&plan, &Facts::new("GET", target));
        assert_eq!((price.cost, price.was_unusable), (Cost::tokens(cost), was_unusable), "{target}");
    }
}

#[test]
fn bytes_are_charged_by_the_token_begun() {
    let plan = plan(CostSource::RequestBytes { per_token: 1_000 });
    for (bytes, cost) in [(Some(1), 1), (Some(1_000), 1), (Some(1_001), 2), (Some(u64::MAX), 50), (None, 2)] {
        let price = price_of(&plan, &Facts { body_bytes: bytes, ..Facts::new("POST", "/") });
        assert_eq!((price.cost, price.was_unusable), (Cost::tokens(cost), bytes.is_none()), "{bytes:?}");
    }
    let empty = price_of(&plan, &Facts { body_bytes: Some(0), ..Facts::new("GET", "/") });
    assert_eq!((empty.cost, empty.was_unusable), (plan.min, false), "no body costs the least");
}

#[test]
fn a_method_has_its_price_and_the_others_the_default() {
    let writes = MethodSet::of("POST").with(MethodSet::of("PUT"));
    let plan = plan(CostSource::PerMethod(vec![
        (writes, Cost::tokens(5)),
        (MethodSet::of("POST"), Cost::tokens(9)),
    ]));
    for (method, cost) in [("POST", 5), ("PUT", 5), ("GET", 2), ("post", 5), ("postt", 2)] {
        let price = price_of(&plan, &Facts::new(method, "/"));
        assert_eq!((price.cost, price.was_unusable), (Cost::tokens(cost), false), "{method}");
    }
}

#[test]
fn the_true_cost_of_a_response_knows_no_bounds() {
    let plan = plan(CostSource::Fixed);
    assert_eq!(plan.settled("120.5"), Some(Cost::micros(120_500_000)), "more than any request is charged");
    assert_eq!(plan.settled("0"), Some(Cost::micros(0)));
    for text in ["a lot", "", "-1", "NaN", " 5"] {
        assert_eq!(plan.settled(text), None, "{text}");
    }
}

#[test]
fn what_somebody_trustworthy_says_counts_whatever_the_client_wrote() {
    let headers = header_fields(&[("x-cost", "1")]);
    for target in ["/q", "/q?n=1", "/q?n=1&n=2", "/q?%6e=1", "/q#?n=1"] {
        let facts = Facts { headers: &headers, cost: Some(Cost::tokens(30)), ..Facts::new("GET", target) };
        for source in [CostSource::Header("x-cost".into()), CostSource::Query("n".into())] {
            let price = price_of(&plan(source), &facts);
            assert_eq!((price.cost, price.was_unusable), (Cost::tokens(30), false), "{target}");
        }
        assert_eq!(price_of(&plan(CostSource::Fixed), &facts).cost, Cost::tokens(2), "{target}");
    }
}
