//! The recipes of docs/proxies: each with the real proxy between a real client (curl), the real service and an application.
//!
//! `cargo xtask test setup` brings the proxies; one that is missing fails its tests, one named in `TOLLGATE_SKIP` is left out.
#![expect(clippy::unwrap_used, reason = "what a test cannot unwrap fails the test")]

#[path = "proxies/admin.rs"]
mod admin;
#[path = "proxies/application.rs"]
mod application;
#[path = "proxies/client.rs"]
mod client;
#[path = "beside/mortal.rs"]
mod mortal;
#[path = "proxies/outage.rs"]
mod outage;
#[path = "proxies/pages.rs"]
mod pages;
#[path = "proxies/ports.rs"]
mod ports;
#[path = "proxies/process.rs"]
mod process;
#[path = "proxies/promises.rs"]
mod promises;
#[path = "proxies/recipe.rs"]
mod recipe;
#[path = "proxies/stack.rs"]
mod stack;
#[path = "proxies/strange_replies.rs"]
mod strange_replies;

/// Every promise, as a test of every recipe.
macro_rules! recipes_keep {
    ($($promise:ident: $check:path;)*) => {
        recipes_keep!(@recipe nginx NGINX $($promise: $check;)*);
        recipes_keep!(@recipe caddy CADDY $($promise: $check;)*);
        recipes_keep!(@recipe traefik TRAEFIK $($promise: $check;)*);
        recipes_keep!(@recipe traefik_fail_open TRAEFIK_FAIL_OPEN $($promise: $check;)*);
        recipes_keep!(@recipe haproxy HAPROXY $($promise: $check;)*);
    };
    (@recipe $name:ident $recipe:ident $($promise:ident: $check:path;)*) => {
        mod $name {
            $(
                #[test]
                fn $promise() {
                    if crate::recipe::$recipe.is_wanted() {
                        $check(&crate::recipe::$recipe);
                    }
                }
            )*
        }
    };
}

recipes_keep! {
    an_admitted_client_is_served_and_sees_where_it_stands_where_the_proxy_can_say_so: crate::promises::admission;
    a_denied_client_sees_the_whole_answer_and_the_application_sees_nothing: crate::promises::denial;
    a_client_cannot_choose_its_address: crate::promises::addresses;
    rules_match_the_original_method_and_path: crate::promises::method_and_path;
    rules_match_the_original_host: crate::promises::host;
    other_refusals_keep_their_status: crate::promises::refusals;
    the_body_of_an_admitted_request_arrives_whole: crate::promises::body;
    an_application_that_fails_is_asked_once: crate::promises::failing_application;
    an_outage_means_what_the_recipe_says_and_ends_by_itself: crate::outage::dead;
    the_page_shows_the_files_as_they_are: crate::pages::shown;
}
