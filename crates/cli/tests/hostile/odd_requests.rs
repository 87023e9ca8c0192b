//! The odd requests: one table for every proxy and middleware. Each is sent on a raw socket, on a connection of its own.

/// An odd request.
pub(crate) struct OddRequest {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    /// Whether it asks for the target that the table was made for, and for nothing else.
    pub(crate) has_target: bool,
    /// Whether it carries the fields that the table was made for, in a way that every server reads alike.
    pub(crate) has_fields: bool,
}

/// A table in the making.
struct Table<'a> {
    target: &'a str,
    fields: &'a str,
    rows: Vec<OddRequest>,
}

/// Every odd request, for this target and with these further header fields, each of which ends with CR LF.
pub(crate) fn odd_requests(target: &str, fields: &str) -> Vec<OddRequest> {
    let mut table = Table { target, fields, rows: Vec::new() };
    table.control_bytes();
    table.many_fields();
    table.long_fields();
    table.duplicates();
    table.forged_fields();
    table.targets();
    table.framing();
    table.rows
}

impl Table<'_> {
    /// A request with this method, target and version, these fields behind the usual ones, and this behind its head.
    fn request(&self, line: &[u8], fields: &[u8], rest: &[u8]) -> Vec<u8> {
        let usual = format!("Host: shop.example\r\n{}Connection: close\r\n", self.fields);
        [line, b"\r\n", usual.as_bytes(), fields, b"\r\n", rest].concat()
    }

    /// A row whose request line is plain and which has these fields besides.
    fn with_fields(&mut self, name: impl Into<String>, fields: impl AsRef<[u8]>) {
        let line = format!("GET {} HTTP/1.1", self.target);
        let bytes = self.request(line.as_bytes(), fields.as_ref(), b"");
        self.rows.push(OddRequest { name: name.into(), bytes, has_target: true, has_fields: true });
    }

    /// A row with this request line.
    fn with_line(&mut self, name: impl Into<String>, line: impl AsRef<[u8]>) {
        let bytes = self.request(line.as_ref(), b"", b"");
        self.rows.push(OddRequest { name: name.into(), bytes, has_target: false, has_fields: true });
    }

    /// A row of these bytes.
    fn raw(&mut self, name: impl Into<String>, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref().to_vec();
        self.rows.push(OddRequest { name: name.into(), bytes, has_target: false, has_fields: false });
    }

    fn control_bytes(&mut self) {
        for byte in [0x00, 0x01, 0x08, 0x0b, 0x0c, 0x0d, 0x1f, 0x7f, 0x80, 0xff] {
            self.with_fields(
                format!("byte {byte:#04x} in a value"),
                [b"X-A: a", &[byte][..], b"b\r\n"].concat(),
            );
        }
        for byte in [0x01, 0x20, 0x7f, 0xff] {
            self.with_fields(
                format!("byte {byte:#04x} in a name"),
                [b"X-A", &[byte][..], b"B: 1\r\n"].concat(),
            );
            let line = [b"GET /a", &[byte][..], b"b HTTP/1.1"].concat();
            self.with_line(format!("byte {byte:#04x} in the path"), line);
        }
        self.with_fields("an empty name", ": 1\r\n");
        self.with_fields("an underscore in a name", "X_A: 1\r\n");
        self.with_fields("a space before the colon", "X-A : 1\r\n");
        self.with_fields("a folded value", "X-A: 1\r\n 2\r\n");
        self.with_fields("a line without a colon", "X-A\r\n");
        let host = format!("GET {} HTTP/1.1\r\nHost: sh\x7fp\r\nConnection: close\r\n\r\n", self.target);
        self.raw("byte 0x7f in the host", host);
        self.raw(
            "line feeds alone",
            format!("GET {} HTTP/1.1\nHost: shop.example\nConnection: close\n\n", self.target),
        );
    }

    fn many_fields(&mut self) {
        for count in [30, 60, 78, 79, 80, 90, 94, 96, 97, 98, 99, 100, 101, 150, 1_000] {
            let fields: Vec<String> = (0..count).map(|number| format!("X{number}: 1\r\n")).collect();
            self.with_fields(format!("{count} more fields"), fields.concat());
        }
        self.with_fields("98 fields of one name", "X-A: 1\r\n".repeat(98));
        self.with_fields("98 empty fields", "X-A:\r\n".repeat(98));
    }

    fn long_fields(&mut self) {
        for bytes in [4_000, 8_000, 12_000, 14_800, 15_100, 15_200, 16_000, 33_000, 70_000, 900_000] {
            self.with_fields(
                format!("a cookie of {bytes} bytes"),
                format!("Cookie: a={}\r\n", "a".repeat(bytes)),
            );
        }
        self.with_fields("60 fields of 250 bytes", format!("X-A: {}\r\n", "a".repeat(243)).repeat(60));
        self.with_fields("a name of 15,100 bytes", format!("{}: 1\r\n", "X".repeat(15_100)));
        for bytes in [7_000, 8_100, 14_800, 15_100, 33_000, 70_000] {
            self.with_line(
                format!("a path of {bytes} bytes"),
                format!("GET /{} HTTP/1.1", "a".repeat(bytes)),
            );
        }
        self.with_line("a query of 15,100 bytes", format!("GET /?{} HTTP/1.1", "a".repeat(15_100)));
        self.with_line("a method of 15,100 bytes", format!("{} / HTTP/1.1", "A".repeat(15_100)));
    }

    fn duplicates(&mut self) {
        self.with_fields("two equal lengths", "Content-Length: 0\r\nContent-Length: 0\r\n");
        self.with_fields("two lengths", "Content-Length: 0\r\nContent-Length: 5\r\n");
        self.with_fields("two cookies", "Cookie: a=1\r\nCookie: a=2\r\n");
        self.with_fields("two cookies, one with byte 0xff", b"Cookie: a=1; x=\xff\r\nCookie: a=2\r\n");
        self.with_fields(
            "two X-Forwarded-For",
            "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-For: 192.0.2.2\r\n",
        );
        let two = format!(
            "GET {} HTTP/1.1\r\nHost: shop.example\r\nHost: free.example\r\n{}Connection: close\r\n\r\n",
            self.target, self.fields
        );
        self.raw("two hosts", two);
    }

    fn forged_fields(&mut self) {
        self.with_fields("a status of Tollgate", "Tollgate-Status: 200\r\nRateLimit: \"client\";r=9\r\n");
        self.with_fields("forged forwarding", "X-Forwarded-For: 192.0.2.9\r\nX-Forwarded-Uri: /free\r\nX-Forwarded-Method: HEAD\r\nX-Original-URI: /free\r\n");
        self.with_fields(
            "forwarding fields that the connection owns",
            "Connection: X-Forwarded-For, X-Forwarded-Uri, X-Forwarded-Method\r\n",
        );
        self.with_fields("Forwarded with an open quote", "Forwarded: for=\"192.0.2.9\r\n");
        self.with_fields("another host by a field", "X-Forwarded-Host: free.example\r\n");
    }

    fn targets(&mut self) {
        for target in [
            "http://shop.example/",
            "http://free.example/",
            "HTTP://SHOP.EXAMPLE/",
            "https://shop.example:443/a",
            "http://a@shop.example/",
            "http:///a",
            "http://shop.example?a",
            "ftp://shop.example/",
            "shop.example:443",
            "*",
            "a",
            "?a",
            "//shop.example/a",
            "/a%2fb",
            "/a%5cb",
            "/%00",
            "/%ff",
            "/%c0%af",
            "/%u0041",
            "/%",
            "/a/../../b",
            "/a;b=c",
            "/a#b",
            "/a\\b",
        ] {
            self.with_line(format!("target {target}"), format!("GET {target} HTTP/1.1"));
        }
        for line in [
            "OPTIONS * HTTP/1.1",
            "CONNECT shop.example:80 HTTP/1.1",
            "get / HTTP/1.1",
            "G@T / HTTP/1.1",
            "TRACE / HTTP/1.1",
        ] {
            self.with_line(format!("line {line}"), line);
        }
    }

    fn framing(&mut self) {
        for line in [
            "GET / HTTP/1.2",
            "GET / HTTP/3.0",
            "GET / http/1.1",
            "GET  / HTTP/1.1",
            " GET / HTTP/1.1",
            "GET / HTTP/1.0",
        ] {
            self.with_line(format!("line {line}"), line);
        }
        self.raw("HTTP/0.9", "GET /\r\n");
        self.raw("HTTP/1.1 without a host", "GET / HTTP/1.1\r\nConnection: close\r\n\r\n");
        self.raw("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        self.raw(
            "empty lines first",
            format!(
                "\r\n\r\nGET {} HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n",
                self.target
            ),
        );
        let plain = format!("GET {} HTTP/1.1\r\nHost: shop.example\r\n\r\n", self.target);
        self.raw("five at once", plain.repeat(5));
        self.with_fields(
            "an upgrade to HTTP/2",
            "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAA\r\n",
        );
        self.with_fields("an upgrade to WebSocket", "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n");
        self.with_fields("a body to be waited for", "Expect: 100-continue\r\nContent-Length: 5\r\n");
        self.with_fields("an expectation that is unknown", "Expect: 200-ok\r\n");
        let post = format!("POST {} HTTP/1.1", self.target);
        let chunked = self.request(post.as_bytes(), b"Transfer-Encoding: chunked\r\n", b"zz\r\n");
        self.raw("a chunk without a length", chunked);
        let both = self.request(
            post.as_bytes(),
            b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
            b"0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
        );
        self.raw("a length and chunks", both);
        let odd = self.request(post.as_bytes(), b"Transfer-Encoding: xchunked\r\n", b"0\r\n\r\n");
        self.raw("an unknown coding", odd);
    }
}
