use super::*;

fn parse(url: &str) -> StoreUrl {
    StoreUrl::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"))
}

fn tcp(host: &str, port: u16) -> Address {
    Address::Tcp(host.to_owned(), port)
}

fn login(user: Option<&str>, password: &str) -> Login {
    Login { user: user.map(str::to_owned), password: Secret::new(password) }
}

#[test]
fn every_topology_is_read_with_its_defaults() {
    let plain = |topology| StoreUrl { topology, login: None, database: 0, tls: None };
    assert_eq!(parse("redis://localhost"), plain(Topology::Standalone(tcp("localhost", 6379))));
    assert_eq!(parse("redis://[::1]:7/"), plain(Topology::Standalone(tcp("::1", 7))));
    assert_eq!(parse("unix:/run/r.sock"), plain(Topology::Standalone(Address::Unix("/run/r.sock".into()))));
    assert_eq!(parse("unix:///run/r.sock"), parse("unix:/run/r.sock"));
    let seeds = vec![tcp("a", 6379), tcp("10.0.0.2", 7001)];
    assert_eq!(parse("redis+cluster://a,10.0.0.2:7001"), plain(Topology::Cluster { seeds }));
    let sentinels = vec![tcp("s1", 26379), tcp("s2", 5000)];
    let sentinel = Topology::Sentinel { sentinels, service: "mymaster".to_owned(), login: None };
    assert_eq!(parse("redis+sentinel://s1,s2:5000/mymaster"), plain(sentinel.clone()));
    assert_eq!(parse("redis+sentinel://s1,s2:5000/mymaster/3"), StoreUrl { database: 3, ..plain(sentinel) });
}

#[test]
fn schemes_are_the_same_in_capitals() {
    assert_eq!(parse("Redis://localhost"), parse("redis://localhost"));
    assert_eq!(parse("REDISS+CLUSTER://h"), parse("rediss+cluster://h"));
    assert_eq!(parse("Unix:/run/r.sock"), parse("unix:/run/r.sock"));
}

#[test]
fn users_passwords_and_databases_are_percent_decoded() {
    let url = parse("redis://al%69ce:p%40ss%2Fw%25rd@h:1/2");
    assert_eq!((url.login, url.database), (Some(login(Some("alice"), "p@ss/w%rd")), 2));
    assert_eq!(parse("redis://:s3:cret@h").login, Some(login(None, "s3:cret")));
    assert_eq!(
        parse("redis://:a@b@h").login,
        Some(login(None, "a@b")),
        "the last @ is the one before the host"
    );
    assert_eq!(parse("redis://h?db=7").database, 7);
    let unix = parse("unix:/a%20b?db=1&user=u&password=p%26q");
    assert_eq!(unix.topology, Topology::Standalone(Address::Unix("/a b".into())));
    assert_eq!((unix.login, unix.database), (Some(login(Some("u"), "p&q")), 1));
    let sentinel = parse("redis+sentinel://u:p@s/m?sentinel_user=su&sentinel_password=sp");
    assert!(
        matches!(&sentinel.topology, Topology::Sentinel { login: own, .. } if *own == Some(login(Some("su"), "sp")))
    );
    assert_eq!(sentinel.login, Some(login(Some("u"), "p")));
}

#[test]
fn what_tls_is_to_do_is_read_from_the_parameters() {
    let tls = |url| parse(url).tls.unwrap();
    assert_eq!(tls("rediss://h"), TlsWish::default());
    assert_eq!(tls("rediss+cluster://h?ca=/etc/ca.pem").ca, Some("/etc/ca.pem".into()));
    assert!(tls("rediss+sentinel://h/m?insecure=true").is_insecure);
    assert_eq!(tls("rediss://h?cert=c.pem&key=k.pem").identity, Some(("c.pem".into(), "k.pem".into())));
    assert_eq!(parse("redis://h").tls, None);
}

#[test]
fn a_refusal_names_the_piece_the_value_and_the_cure() {
    let cases = [
        ("http://h", "the scheme is `http`; use redis, rediss (TLS)"),
        ("localhost:6379", "the URL has no scheme; begin with redis://"),
        ("redis://", "a host is missing"),
        ("redis://h:0", "the port is `0`; use 1 to 65535"),
        ("redis://h:65536", "the port is `65536`"),
        ("redis://h:+1", "the port is `+1`"),
        ("redis://h h", "the host is `h h`; use a name"),
        ("redis://[::1", "the host is `[::1`"),
        ("redis://[::z]:1", "the host is `::z`"),
        ("redis://a,b", "there are 2 hosts; name one, or up to 32"),
        ("redis://h/x", "the database is `x`; use 0 to 65535"),
        ("redis://h/99999", "the database is `99999`"),
        ("redis://h/1?db=1", "the database stands in the path and as `db`"),
        ("redis+cluster://h/1", "the database is 1, but a cluster has database 0 alone"),
        ("redis+sentinel://h", "the service is ``; name the master"),
        ("redis+sentinel://h/a%20b", "the service is `a b`"),
        ("redis://user@h", "there is a user, but no password; write user:password@host"),
        ("rediss://h?insecure=yes", "`insecure` is `yes`; use true or false"),
        ("rediss://h?insecure=true&ca=x", "delete one of them"),
        ("rediss://h?cert=x", "`cert` and `key` belong together"),
        ("redis://h?ca=x", "`ca` is about TLS, and this URL is without; begin it with rediss"),
        ("redis://h?timeout=5", "the parameter `timeout` is unknown here"),
        ("redis://h?db=1&db=2", "`db` is given twice"),
        ("redis://h#insecure", "?insecure=true"),
        ("unix:run/r.sock", "the path is `run/r.sock`"),
    ];
    for (url, message) in cases {
        let refused = StoreUrl::parse(url).unwrap_err().to_string();
        assert!(refused.contains(message), "{url}: {refused}");
    }
    let long = format!("redis://{}", "h".repeat(URL_BYTES_MAX));
    assert_eq!(StoreUrl::parse(&long), Err(StoreUrlError::TooLong { bytes: URL_BYTES_MAX + 8 }));
    let many = format!("redis+cluster://{}", vec!["h"; ADDRESSES_MAX + 1].join(","));
    assert_eq!(StoreUrl::parse(&many), Err(StoreUrlError::SeveralAddresses { count: ADDRESSES_MAX + 1 }));
}

#[test]
fn no_message_shows_a_password_however_it_is_mistyped() {
    let urls = [
        "redis://u:hunter2@h/x",
        "redis://u:hunter2/hunter2@h",
        "redis://u:hunter2?hunter2@h",
        "redis://u:hunter2#hunter2@h",
        "redis://u:hunter2%@h",
        "redis://u:hunter2@h:x",
        "redis://:hunter2@h?password=hunter2",
        "redis://:hunter2@h?hunter2",
        "hunter2://h",
        "redis+sentinel://s/m?sentinel_password=hunter2&x=1",
        "unix:/r?password=hunter2&db=x",
        "unix:/r?user=u&password=hunter2",
        "redis://u:hunter2@h",
        "redis//u:hunter2@h",
        "redis:u:hunter2@h",
        "unix:u:hunter2@h",
        "unix:/r?password=hunter2&foo=1",
        "unix:/r?a&hunter2&hunter2",
        "redis://u:hunter2",
        "Redis://u:hunter2@h",
        "redis+sentinel://:hunter2@s/m?sentinel_password=hunter2",
    ];
    for url in urls {
        let shown = match StoreUrl::parse(url) {
            Ok(url) => format!("{url} {url:?} {:?}", url.login.as_ref().map(|login| &login.password)),
            Err(error) => format!("{error} {error:?}"),
        };
        assert!(!shown.contains("hunter2"), "{url}: {shown}");
    }
}

#[test]
fn what_is_shown_of_a_url_is_that_url_again() {
    for url in [
        "redis://localhost:6379",
        "rediss://h:1/5",
        "redis+cluster://a:1,[::1]:2",
        "redis+sentinel://s:1/m/2",
        "unix:/run/r.sock",
    ] {
        assert_eq!(parse(url).to_string(), url);
    }
    assert_eq!(parse("redis://u:p@h").to_string(), "redis://u:***@h:6379");
}

/// Pieces of URLs and any bytes, joined at random: never a panic, and a password never comes out.
#[test]
fn any_bytes_are_read_or_refused() {
    let pieces = [
        "redis",
        "rediss",
        "+sentinel",
        "+cluster",
        "unix:",
        "://",
        "/",
        "@",
        ":",
        ",",
        "?",
        "&",
        "=",
        "#",
        "%",
        "%41",
        "%ff",
        "[",
        "]",
        "::1",
        "h",
        "db",
        "ca",
        "insecure",
        "true",
        "1",
        "65536",
        "ä",
        "\0",
        "sesame",
        "cert",
        "key",
        "user",
        "password",
    ];
    let mut random = fastrand::Rng::with_seed(0x11_4b);
    let mut accepted = 0;
    for _ in 0..200_000 {
        let mut url = String::from(
            *random
                .choice(&["", "redis://", "rediss://", "redis+cluster://", "redis+sentinel://", "unix:/"])
                .unwrap(),
        );
        for _ in 0..random.usize(..12) {
            match random.u8(..10) {
                0 => url.push(random.char(..)),
                _ => url.push_str(random.choice(&pieces).unwrap()),
            }
        }
        if let Ok(parsed) = StoreUrl::parse(&url) {
            accepted += 1;
            // A login's user may be shown; the password is not, wherever else the word does not stand.
            let shown = format!("{parsed:?}");
            if parsed.login.as_ref().is_some_and(|login| login.password.reveal() == "sesame")
                && url.matches("sesame").count() == 1
            {
                assert!(!shown.contains("sesame"), "{url}: {shown}");
            }
        }
    }
    assert!(accepted > 1_000, "{accepted} of them are URLs");
}
