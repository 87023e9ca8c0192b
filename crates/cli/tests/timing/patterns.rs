//! Rules against hostile values: the time of one match and of one ruling, and the wait of other connections (H7).

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tollgate::policy::{Facts, Policy, REGEX_INPUT_BYTES_MAX, Regex, RuleBook};

use super::{QUESTIONS, Server};
use crate::scratch::Scratch;

/// Longest time of one match, on a machine that is busy besides. About 2 µs are usual.
const MATCH_MAX: Duration = Duration::from_micros(100);
/// Longest that 99 of 100 other checks may take: a quarter of the time after which the recipe for nginx gives up.
const OTHERS_P99_MAX: Duration = Duration::from_millis(50);
/// Longest time of one ruling on a head of [`HEAD_BYTES`], without optimisation and on a busy machine. A ruling whose time grows with
/// the square of the head takes seconds.
const RULING_MAX: Duration = Duration::from_millis(500);
const HEAD_BYTES: usize = 60_000;
const HOSTILE_CONNECTIONS: usize = 48;
const VALUE_BYTES: usize = 7_900;

/// Regexes that are nearly as large as they may be, and the ones that made the attack.
const REGEXES: [&str; 6] = [
    "(?i)(bot|crawl|spider).*(scrap|curl|wget)",
    "a.*b.*c",
    "bot.{0,12}scrap",
    "[ab]*a[ab]{9}c",
    r"(?i)[\w.-]{1,64}@[\w.-]{1,255}",
    r"(?u)\w+@x",
];

/// Bytes that look random, of these letters.
fn random(letters: &[u8], count: usize, seed: u64) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..count).map(|_| letters[rng.usize(..letters.len())]).collect()
}

#[test]
fn one_match_takes_at_most_100_microseconds() {
    let every_byte: Vec<u8> = (0..=u8::MAX).collect();
    let alphabets: [&[u8]; 7] =
        [b"a", b"ab", b"abc", b"botcrawlspider ", b"scurlwget-.@", "é日x".as_bytes(), &every_byte];
    for regex in REGEXES {
        let compiled = Regex::new(regex).unwrap();
        for (seed, letters) in (0..).zip(alphabets) {
            let value = random(letters, REGEX_INPUT_BYTES_MAX, seed);
            let mut times: Vec<Duration> = (0..101)
                .map(|_| {
                    let begun = Instant::now();
                    std::hint::black_box(compiled.is_match(std::hint::black_box(&value)));
                    begun.elapsed()
                })
                .collect();
            times.sort();
            assert!(times[50] < MATCH_MAX, "{regex} takes {:?} for {}", times[50], letters.escape_ascii());
        }
    }
}

/// Cookie lines, parameters and paths of which each byte may begin or end a name, a value, a segment or an escape.
#[test]
fn one_ruling_on_a_hostile_head_takes_at_most_half_a_second() {
    let rules = "
        - {name: key, limit_keys: ['cookie:k', 'query:k', 'header:x-k'], rate: 1/s, burst: 5}
        - {name: cookie, action: block, match: {'cookie:k': wanted}}
        - {name: query, action: block, match: {'query:k': wanted}}
        - {name: header, action: block, match: {'header:x-k': wanted}}
        - {name: regex, action: block, match: {any: [{'cookie:k': {regex: a.*b}}, {'header:x-k': {regex: a.*b}}]}}
        - {name: glob, path: /a/**/c*, scope: ip, rate: 1/s, burst: 5}";
    let policy = Policy::parse("p.yaml", rules).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let book = RuleBook::new(policy);
    let fill = |piece: &str| piece.repeat(HEAD_BYTES / piece.len());
    let cookies = ["+ ", "%20 ", "[ ", ",k=", "k=;", ",k=\"", ",k=\"\\", "k=\u{a0}", "=", "k=a%62 "]
        .map(|piece| ("cookie", fill(piece) + "=x", "/a/c".to_owned()));
    let padded = [(
        "cookie",
        format!("{}{}", "k=".repeat(HEAD_BYTES / 4), " ".repeat(HEAD_BYTES / 2)),
        "/".to_owned(),
    )];
    let queries =
        ["k=&", "k=;", "+", "[", "%20"].map(|piece| ("x", String::new(), format!("/?{}", fill(piece))));
    let paths = ["/x%2f..\\y%5c../", "%20", "/..;%2f", "/./%00"]
        .map(|piece| ("x-k", "value".to_owned(), format!("//h/a/{}", fill(piece))));
    for (name, value, target) in cookies.into_iter().chain(padded).chain(queries).chain(paths) {
        let headers = vec![(name.to_owned(), value)];
        let facts = Facts { headers: &headers, ..Facts::new("GET", &target) };
        let times = (0..5).map(|_| {
            let begun = Instant::now();
            std::hint::black_box(book.rule_on(std::hint::black_box(&facts), 0, |_| ()));
            begun.elapsed()
        });
        let least = times.min().unwrap();
        let shown = format!(
            "{} {}",
            &headers[0].1.get(..20).unwrap_or_default(),
            &target.get(..20).unwrap_or(&target)
        );
        assert!(least < RULING_MAX, "{shown}: {least:?}");
    }
    let repeated = vec![("X_K".to_owned(), String::new()); HEAD_BYTES / 8];
    let facts = Facts { headers: &repeated, ..Facts::new("GET", "/") };
    let begun = Instant::now();
    book.rule_on(&facts, 0, |_| ());
    assert!(begun.elapsed() < RULING_MAX, "{:?} for a field {} times", begun.elapsed(), repeated.len());
}

/// The status of the response, after its body was read.
fn status(stream: &mut BufReader<TcpStream>) -> u16 {
    let (mut status, mut length) = (0, 0);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(rest) = line.strip_prefix("http/1.1 ") {
            status = rest[..3].parse().unwrap();
        } else if let Some(rest) = line.strip_prefix("content-length: ") {
            length = rest.parse().unwrap();
        } else if line.is_empty() {
            break;
        }
    }
    stream.by_ref().take(length).read_to_end(&mut Vec::new()).unwrap();
    status
}

fn connect(server: &Server) -> BufReader<TcpStream> {
    let stream = TcpStream::connect(("127.0.0.1", server.http)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    BufReader::new(stream)
}

/// Returns the check that a proxy sends for a client that sends this field.
fn forward_auth(path: &str, field: &str, value: &[u8]) -> Vec<u8> {
    let head = format!(
        "GET /v1/forward-auth/traefik HTTP/1.1\r\nhost: a\r\nx-forwarded-method: GET\r\nx-forwarded-host: a\r\n\
         x-forwarded-uri: {path}\r\nx-forwarded-for: 192.0.2.7\r\n{field}: "
    );
    [head.as_bytes(), value, b"\r\n\r\n"].concat()
}

#[test]
fn hostile_headers_delay_no_other_check_and_lift_no_limit() {
    let scratch = Scratch::new();
    let tests: Vec<String> =
        REGEXES.iter().map(|regex| format!("{{'header:user-agent': {{regex: '{regex}'}}}}")).collect();
    let policy = scratch.write(
        "policy.yaml",
        &format!(
            "rules:\n  - {{name: scrapers, action: block, match: {{any: [{}, {{'cookie:k': wanted}}]}}}}\n  - {{name: login, path: /login, scope: ip, rate: 1/h, burst: 3}}\n",
            tests.join(", ")
        ),
    );
    let server = Server::on_one_thread_with(&["--policy", &policy]);
    let login = forward_auth("/login", "user-agent", b"Mozilla/5.0");
    let mut polite = connect(&server);
    let mut ask = |request: &[u8]| {
        polite.get_mut().write_all(request).unwrap();
        status(&mut polite)
    };
    let admitted = (0..10).filter(|_| ask(&login) == 200).count();
    assert_eq!(admitted, 3);
    let (is_over, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    let mut times: Vec<Duration> = std::thread::scope(|scope| {
        for seed in 0..HOSTILE_CONNECTIONS {
            let (server, is_over, answered) = (&server, &is_over, &answered);
            scope.spawn(move || {
                let request = match seed % 8 {
                    0 => forward_auth(
                        "/search",
                        "cookie",
                        &[&b"+ ".repeat(VALUE_BYTES / 2)[..], b"=x"].concat(),
                    ),
                    1 => forward_auth("/x%2fy\\..%5c..%2fsearch", "cookie", &b",k=".repeat(VALUE_BYTES / 3)),
                    _ => {
                        let user_agent = random(b"abotcrlwspide ", VALUE_BYTES, seed as u64);
                        forward_auth("/search", "user-agent", &user_agent)
                    }
                };
                let mut stream = connect(server);
                while !is_over.load(Ordering::Relaxed) {
                    stream.get_mut().write_all(&request).unwrap();
                    assert!(matches!(status(&mut stream), 200 | 403), "the regexes were tried");
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        while answered.load(Ordering::Relaxed) < 10 * HOSTILE_CONNECTIONS {
            std::thread::yield_now();
        }
        let times = (0..QUESTIONS)
            .map(|_| {
                let begun = Instant::now();
                assert_eq!(ask(&login), 429, "a limit that is used up stays so");
                begun.elapsed()
            })
            .collect();
        is_over.store(true, Ordering::Relaxed);
        times
    });
    times.sort();
    let p99 = times[QUESTIONS * 99 / 100];
    assert!(p99 < OTHERS_P99_MAX, "99 of 100 checks took up to {p99:?}");
}
