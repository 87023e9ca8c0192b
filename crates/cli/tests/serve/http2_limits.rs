//! HTTP/2 protects itself as HTTP/1.1 does: what is too much, too slow or silent is refused, and the server goes on.

use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

use bytes::Bytes;
use http::Request;

use crate::http2::{answer, ask, connect, run};
use crate::http2_frames::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, Frames, HEADERS, PING, PREFACE,
    RST_STREAM, SETTINGS, frame, livez, post,
};
use crate::server::Server;

#[test]
fn the_preface_may_come_in_any_pieces() {
    let server = Server::new(&[]);
    let head = frame(HEADERS, END_HEADERS | END_STREAM, 1, &livez());
    let mut slowly = Frames(std::net::TcpStream::connect(server.address("http")).unwrap());
    slowly.0.set_nodelay(true).unwrap();
    for byte in [PREFACE, &frame(SETTINGS, 0, 0, &[]), &head].concat() {
        slowly.send(&[byte]);
    }
    let (mut kind, mut body) = (0, Vec::new());
    while (kind, &*body) != (DATA, b"ok\n") {
        (kind, _, body) = slowly.next().unwrap();
    }
}

#[test]
fn a_body_that_is_too_large_or_too_slow_is_refused_and_the_connection_goes_on() {
    let server = Server::new(&["--idle-timeout", "1500ms"]);
    run(async {
        let (client, _) = connect(server.address("http")).await;
        let mut ready = client.clone().ready().await.unwrap();
        let request = || Request::post("http://test/v1/check").body(()).unwrap();
        let (slow, mut send) = ready.send_request(request(), false).unwrap();
        send.send_data(Bytes::from_static(b"{"), false).unwrap();
        let announced =
            Request::post("http://test/v1/check").header("content-length", "65537").body(()).unwrap();
        let (large, _held) = ready.clone().ready().await.unwrap().send_request(announced, false).unwrap();
        let (status, body) = answer(large).await;
        assert!(status == 413 && body.contains("longer than 65536 bytes"), "{status} {body}");
        let (unannounced, mut sending) =
            ready.clone().ready().await.unwrap().send_request(request(), false).unwrap();
        sending.send_data(Bytes::from(vec![b' '; 70_000]), false).unwrap();
        assert_eq!(answer(unannounced).await.0, 413);
        let (status, body) = answer(slow).await;
        assert!(status == 408 && body.contains("send it at once"), "{status} {body}");
        assert_eq!(answer(ask(&client, "/livez", "").await).await.0, 200, "the others go on");
    });
}

#[test]
fn a_head_that_is_too_large_is_431_and_the_connection_goes_on() {
    let server = Server::new(&[]);
    run(async {
        let (client, _) = connect(server.address("http")).await;
        let mut ready = client.clone().ready().await.unwrap();
        let request = Request::get("http://test/livez").header("x", "a".repeat(100_000)).body(()).unwrap();
        let (response, _) = ready.send_request(request, true).unwrap();
        assert_eq!(response.await.unwrap().status().as_u16(), 431);
        assert_eq!(answer(ask(&client, "/livez", "").await).await.0, 200);
    });
}

#[test]
fn http2_head_of_more_than_100_fields_is_431() {
    let server = Server::new(&["--metrics", "127.0.0.1:0"]);
    run(async {
        for door in ["http", "admin", "metrics"] {
            let (client, _) = connect(server.address(door)).await;
            for (fields, status) in [(100, 200), (101, 431), (400, 431)] {
                let mut request = Request::get("http://localhost/livez");
                for number in 0..fields {
                    request = request.header(format!("x-{}", number % 150), "a");
                }
                let mut ready = client.clone().ready().await.unwrap();
                let (response, _) = ready.send_request(request.body(()).unwrap(), true).unwrap();
                let (answered, body) = answer(response).await;
                assert_eq!(answered, status, "{door} {fields}: {body}");
                assert!(status == 200 || body.contains("more than 100 fields"), "{body}");
            }
        }
    });
}

#[test]
fn so_many_requests_may_be_open_at_a_time_and_one_more_is_refused() {
    let server = Server::new(&[]);
    let mut frames = Frames::to(server.address("http"));
    let mut head = post();
    for stream in 0..101 {
        frames.send(&frame(HEADERS, END_HEADERS, stream * 2 + 1, &head));
        head = post();
    }
    let refused = loop {
        let (kind, stream, payload) = frames.next().unwrap();
        if kind == RST_STREAM {
            break (stream, u32::from_be_bytes(payload.try_into().unwrap()));
        }
    };
    assert_eq!(refused, (201, 7), "REFUSED_STREAM, which a client may send again");
    assert_eq!(server.http().get("/livez").status, 200);
}

#[test]
fn who_takes_requests_back_as_fast_as_it_sends_them_is_cut_off() {
    // So few that the system has enough files for them, and nothing is to be warned of.
    let server = Server::new(&["--max-connections", "100"]);
    let mut frames = Frames::to(server.address("http"));
    let mut flood = Vec::new();
    for stream in 0..5_000 {
        flood.extend(frame(HEADERS, END_HEADERS | END_STREAM, stream * 2 + 1, &livez()));
        flood.extend(frame(RST_STREAM, 0, stream * 2 + 1, &8_u32.to_be_bytes()));
    }
    // It may be cut off before all of it was sent.
    let _ = frames.0.write_all(&flood);
    assert_eq!(frames.goodbye(), Some(ENHANCE_YOUR_CALM));
    assert_eq!(server.http().get("/livez").status, 200);
    server.signal("TERM");
    let (_, said) = server.ended();
    assert!(!said.iter().any(|line| line.contains("WARN")), "strangers do not write our log: {said:#?}");
}

#[test]
fn a_head_without_end_is_cut_off() {
    let server = Server::new(&[]);
    let mut frames = Frames::to(server.address("http"));
    frames.send(&frame(HEADERS, END_STREAM, 1, &livez()));
    let piece = [&[0x00, 1, b'x', 0x7f, 0x81, 0x7f][..], &vec![b'a'; 16_384 - 6]].concat();
    for _ in 0..1_000 {
        if frames.0.write_all(&frame(CONTINUATION, 0, 1, &piece)).is_err() {
            break;
        }
    }
    assert!(frames.goodbye().is_some());
    assert_eq!(server.http().get("/livez").status, 200);
}

#[test]
fn frames_that_make_no_sense_get_a_goodbye_with_its_reason() {
    let server = Server::new(&[]);
    for (frames_sent, reason) in [
        (frame(DATA, 0, 0, b"for nobody"), 1),
        (frame(HEADERS, END_HEADERS | END_STREAM, 2, &livez()), 1),
        (frame(SETTINGS, 0, 0, b"12345"), 1),
        (frame(PING, 0, 0, b"1"), 1),
        (frame(HEADERS, END_HEADERS | END_STREAM, 1, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff]), 1),
        (frame(0x0f, 0, 1, &vec![0; 16_385]), 6),
    ] {
        let mut frames = Frames::to(server.address("http"));
        frames.send(&frames_sent);
        assert_eq!(frames.goodbye(), Some(reason), "{:?}", &frames_sent[..9]);
    }
    assert_eq!(server.http().get("/livez").status, 200);
}

#[test]
fn a_connection_that_asks_nothing_is_closed_whatever_else_it_sends() {
    let server = Server::new(&["--idle-timeout", "1500ms"]);
    let mut silent = Frames::to(server.address("http"));
    let mut chatting = Frames::to(server.address("http"));
    chatting.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &livez()));
    chatting.0.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let pings = (0..200).take_while(|_| {
        // The server may end it meanwhile.
        let _ = chatting.0.write_all(&frame(PING, 0, 0, b"12345678"));
        loop {
            match chatting.0.read(&mut [0; 64]) {
                Ok(1..) => {}
                Ok(0) => return false,
                Err(error) => return [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()),
            }
        }
    });
    assert!(pings.count() < 200, "it may not send pings for ever");
    silent.goodbye();
    assert_eq!(server.http().get("/livez").status, 200);
}

#[test]
fn any_bytes_after_the_preface_leave_the_server_as_it_was() {
    let server = Server::new(&[]);
    let mut random = fastrand::Rng::with_seed(20_261_115);
    for _ in 0..200 {
        let mut frames = Frames::to(server.address("http"));
        for _ in 0..random.usize(1..20) {
            let bytes = random.usize(0..64);
            let payload: Vec<u8> = match random.u8(0..4) {
                0 => livez(),
                1 => post(),
                _ => std::iter::repeat_with(|| random.u8(..)).take(bytes).collect(),
            };
            let stream = random.u32(0..6);
            // It may be cut off meanwhile.
            let _ = frames.0.write_all(&frame(random.u8(0..12), random.u8(..), stream, &payload));
        }
        let _ = frames.0.shutdown(std::net::Shutdown::Write);
        frames.goodbye();
    }
    assert_eq!(server.http().get("/livez").status, 200);
}
