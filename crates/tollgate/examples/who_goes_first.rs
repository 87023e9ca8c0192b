//! A service under overload: within each organisation crawlers are denied first and payments last.

use tollgate::{Breadth, Burst, Cost, Hierarchy, Limit, Limiter, Priority, Rate, Shares};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let per_second = |rate, burst| Limit::new(Rate::per_second(rate), Burst::tokens(burst));
    let limiter = Limiter::new(per_second(1, 1)?);
    let organisation = limiter.shared_rule("organisation", per_second(50, 100)?, Breadth::Group)?;
    let user = limiter.rule("user", per_second(40, 80)?)?;

    // A fifth of an organisation's bucket is kept for payments, another fifth for whatever a person waits for.
    let shares = Shares::NONE.keep(Priority::Critical, 20)?.keep(Priority::Important, 20)?;
    let limits_of = |priority| Hierarchy::new(&[organisation.of_priority(priority, shares), user.clone()]);

    let crawl = limits_of(Priority::Bulk)?;
    let pay = limits_of(Priority::Critical)?;
    let crawled = (0..200).filter(|_| crawl.check(&["acme", "crawler"]).is_admitted()).count();
    println!("the crawler got {crawled} of 200 requests through");
    println!("a payment beside it: {}", pay.check_n(&["acme", "ann"], Cost::tokens(5)));
    println!("the crawler again:   {}", crawl.check(&["acme", "crawler"]));
    println!("of another company:  {}", crawl.check(&["globex", "crawler"]));
    Ok(())
}
