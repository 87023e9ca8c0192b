//! What every recipe promises while Tollgate does not answer.

use std::net::{Ipv4Addr, TcpListener};

use crate::process::eventually;
use crate::recipe::{CADDY, Contrary, HAPROXY, NGINX, Recipe, TRAEFIK, TRAEFIK_FAIL_OPEN};
use crate::stack::Stack;

/// Longest that a client is held up by a Tollgate that accepts and says nothing. Recipes give up after a fraction of a second;
/// the rest is for machines that have much else to do.
const HELD_UP_S_MAX: u8 = 5;

pub(crate) fn dead(recipe: &Recipe) {
    let mut stack = Stack::start(recipe);
    assert_eq!([(); 4].map(|()| stack.get(2, "/").status), [200, 200, 200, 429]);
    stack.kill_tollgate();
    away(&stack, recipe.away);
    stack.start_tollgate();
    limits_again(&stack);
}

#[test]
fn nginx_fails_closed_after_the_change_that_its_page_names() {
    contrary(&NGINX);
}

#[test]
fn caddy_fails_closed_after_the_change_that_its_page_names() {
    contrary(&CADDY);
}

#[test]
fn haproxy_fails_closed_after_the_change_that_its_page_names() {
    contrary(&HAPROXY);
}

#[test]
fn a_silent_tollgate_does_not_hold_up_clients_of_nginx() {
    silent(&NGINX);
}

#[test]
fn a_silent_tollgate_does_not_hold_up_clients_of_caddy() {
    silent(&CADDY);
}

#[test]
fn a_silent_tollgate_does_not_hold_up_clients_of_haproxy() {
    silent(&HAPROXY);
}

#[test]
fn a_silent_tollgate_does_not_hold_up_clients_of_traefik_that_fails_open() {
    silent(&TRAEFIK_FAIL_OPEN);
}

#[test]
fn the_page_says_how_long_clients_of_traefik_that_fails_closed_may_wait() {
    assert!(TRAEFIK.page().contains("30 seconds"));
}

fn contrary(recipe: &Recipe) {
    let Some(change) = recipe.contrary.as_ref().filter(|_| recipe.is_wanted()) else { return };
    let mut stack = Stack::without_tollgate(recipe, Some(change));
    away(&stack, change.away);
    stack.start_tollgate();
    limits_again(&stack);
    let page = recipe.page();
    let Contrary { replace, by, .. } = change;
    for text in [replace, by] {
        assert!(page.contains(text.trim()), "the page does not name the change: {text}");
    }
}

fn silent(recipe: &Recipe) {
    if !recipe.is_wanted() {
        return;
    }
    let stack = Stack::without_tollgate(recipe, None);
    // Whoever connects is kept waiting.
    let _silent = TcpListener::bind((Ipv4Addr::LOCALHOST, stack.tollgate_port)).unwrap();
    away(&stack, recipe.away);
}

/// Whatever a client has spent, it gets this status: at once, or when a health check has noticed.
#[track_caller]
fn away(stack: &Stack, status: u16) {
    let get = || stack.ask(2, "GET", "/").within(HELD_UP_S_MAX).send();
    let mut answer = get();
    let turns_so = eventually(|| {
        answer = get();
        answer.status == status
    });
    assert!(turns_so, "{answer:#?}");
    for _ in 0..5 {
        let answer = get();
        assert_eq!(answer.status, status, "{answer:#?}");
        assert_eq!(answer.field("ratelimit"), None, "nobody knows: {answer:#?}");
    }
}

/// Limits hold again, by themselves.
#[track_caller]
fn limits_again(stack: &Stack) {
    assert!(eventually(|| stack.get(3, "/").status == 429), "requests are let through for good");
    assert_eq!(stack.get(4, "/").status, 200, "requests are turned away for good");
}
