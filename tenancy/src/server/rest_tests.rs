//! Answers that are given before the request's body was read, seen from a raw socket.

use super::*;

/// More than any buffer on the way takes: who has sent it has had it read.
const LARGE: usize = 16 << 20;

/// A request's head.
fn head(path: &str, headers: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nhost: x\r\n{headers}\r\n")
}

/// One answer: status, head in lower case, body.
async fn answer(stream: &mut TcpStream) -> (u16, String, String) {
    let mut bytes = Vec::new();
    let end = async {
        loop {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let head = head.to_ascii_lowercase();
                let length = head.split_once("content-length: ").and_then(|(_, rest)| rest.lines().next());
                let length: usize = length.expect("a length").parse().unwrap();
                if body.len() >= length {
                    assert_eq!(body.len(), length, "nothing follows: {text}");
                    return (split(&text).0, head, body.to_owned());
                }
            }
            let count = stream.read_buf(&mut bytes).await.expect("no reset");
            assert!(count > 0, "the answer is whole: {text}");
        }
    };
    tokio::time::timeout(Duration::from_secs(30), end).await.expect("an answer")
}

/// The end of the connection, which is no reset.
async fn end(stream: &mut TcpStream) {
    let mut more = [0; 16];
    let read = tokio::time::timeout(Duration::from_secs(30), stream.read(&mut more)).await.expect("an end");
    assert_eq!(read.expect("no reset"), 0);
}

/// The answer that ends the connection in words, and the end; its body.
async fn last_answer(stream: &mut TcpStream, status: u16) -> String {
    let (found, head, body) = answer(stream).await;
    assert_eq!(found, status, "{head}");
    assert!(head.contains("connection: close"), "{head}");
    end(stream).await;
    body
}

/// Requests that are answered unread, by path, headers and status.
const UNREAD: [(&str, &str, u16); 4] = [
    ("/test/echo", "", 400),
    ("/test/echo", "tenantID: globex\r\n", 403),
    ("/nowhere", "tenantID: acme\r\n", 404),
    ("/test/echo", "tenantID: acme\r\n", 413),
];

#[tokio::test]
async fn a_short_body_that_nobody_read_leaves_the_connection_usable() {
    // Time enough for a machine that has other things to do.
    let app = start_with(scaffold(&[]), |app| app.limits.times.rest = Duration::from_secs(30)).await;
    let mut stream = TcpStream::connect(app.public).await.unwrap();
    let body = "x".repeat(60_000);
    for (path, headers, status) in UNREAD {
        for chunked in [false, true] {
            let request = if chunked {
                let head = head(path, &format!("{headers}transfer-encoding: chunked\r\n"));
                format!("{head}{:x}\r\n{body}\r\n0\r\n\r\n", body.len())
            } else {
                head(path, &format!("{headers}content-length: {}\r\n", body.len())) + &body
            };
            stream.write_all(request.as_bytes()).await.unwrap();
            let (found, head, _) = answer(&mut stream).await;
            assert_eq!(found, status, "{path} {headers}");
            assert!(!head.contains("connection: close"), "{head}");
        }
    }
    stream.write_all(b"GET /test HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    assert_eq!(answer(&mut stream).await.0, 200);
}

#[tokio::test]
async fn a_client_that_sends_a_large_body_first_and_reads_then_finds_the_answer_and_the_end() {
    let app = start(scaffold(&[])).await;
    for (path, headers, status) in UNREAD {
        let mut stream = TcpStream::connect(app.public).await.unwrap();
        let head = head(path, &format!("{headers}content-length: {LARGE}\r\n"));
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&vec![b'x'; LARGE]).await.expect("all of it is taken");
        let body = last_answer(&mut stream, status).await;
        assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["status"], status, "{path} {headers}");
    }
}

#[tokio::test]
async fn a_client_that_is_still_sending_reads_the_answer_and_the_end_at_once() {
    let app = start(scaffold(&["--max-requests", "1"])).await;
    until_ready(&app).await;
    let mut busy = TcpStream::connect(app.public).await.unwrap();
    busy.write_all(b"GET /test/slow HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let shed = async {
        loop {
            let mut stream = TcpStream::connect(app.public).await.unwrap();
            let head = head("/test/echo", &format!("tenantID: acme\r\ncontent-length: {LARGE}\r\n"));
            stream.write_all(head.as_bytes()).await.unwrap();
            stream.write_all(b"still sen").await.unwrap();
            let (status, head, body) = answer(&mut stream).await;
            assert!(head.contains("connection: close"), "{head}");
            end(&mut stream).await;
            // A reset would be the answer to the first of these, and be seen by the second.
            stream.write_all(b"ding").await.expect("no reset");
            stream.write_all(b"all the same").await.expect("no reset");
            if status == 503 {
                return body;
            }
        }
    };
    let body = tokio::time::timeout(Duration::from_secs(30), shed).await.unwrap();
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["type"], "urn:tenant-plane:problem:unavailable");
}

#[tokio::test]
async fn a_body_that_dawdles_or_is_broken_ends_the_connection_with_an_answer_that_says_so() {
    let app = start(scaffold(&["--request-timeout", "200ms"])).await;
    for (rest, status) in
        [("content-length: 1000\r\n\r\n1", 408), ("transfer-encoding: chunked\r\n\r\nno number\r\n", 400)]
    {
        let mut stream = TcpStream::connect(app.public).await.unwrap();
        let request = format!("POST /test/echo HTTP/1.1\r\nhost: x\r\ntenantID: acme\r\n{rest}");
        stream.write_all(request.as_bytes()).await.unwrap();
        last_answer(&mut stream, status).await;
    }
}

#[tokio::test]
async fn a_head_that_is_too_large_or_no_http_is_answered_and_not_reset() {
    let app = start(scaffold(&[])).await;
    let endless = format!("GET /test HTTP/1.1\r\nhost: x\r\nlong: {}", "x".repeat(LARGE));
    for (request, status) in [(endless, 431), (format!("\x16\x03\x01{}", "\x01".repeat(LARGE)), 400)] {
        let mut stream = TcpStream::connect(app.public).await.unwrap();
        stream.write_all(request.as_bytes()).await.expect("all of it is taken");
        last_answer(&mut stream, status).await;
    }
}

#[tokio::test]
async fn a_body_that_waits_to_be_asked_for_is_not_asked_for_in_vain() {
    // Time enough to ask in, for a machine that has other things to do.
    let app = start_with(scaffold(&[]), |app| app.limits.times.rest = Duration::from_secs(30)).await;
    for (path, headers, status) in UNREAD {
        // 10 bytes are less than the echo's limit: with a 413 the length alone is too large.
        for length in if status == 413 { &[2_000, 25_000_000][..] } else { &[10, 25_000_000] } {
            let mut stream = TcpStream::connect(app.public).await.unwrap();
            let head = head(path, &format!("{headers}content-length: {length}\r\nexpect: 100-continue\r\n"));
            stream.write_all(head.as_bytes()).await.unwrap();
            last_answer(&mut stream, status).await;
        }
    }
}

#[tokio::test]
async fn a_body_that_waits_to_be_asked_for_is_asked_for_by_whoever_takes_it() {
    let app = start(scaffold(&[])).await;
    let mut stream = TcpStream::connect(app.public).await.unwrap();
    let head = head("/test/echo", "tenantID: acme\r\ncontent-length: 2\r\nexpect: 100-continue\r\n");
    let go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    for _ in 0..2 {
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut line = vec![0; go_on.len()];
        tokio::time::timeout(Duration::from_secs(30), stream.read_exact(&mut line)).await.expect("in time").unwrap();
        assert_eq!(String::from_utf8_lossy(&line), go_on);
        stream.write_all(b"{}").await.unwrap();
        assert_eq!(answer(&mut stream).await.0, 200);
    }
}

#[tokio::test]
async fn a_short_rest_that_does_not_come_is_not_waited_for_long() {
    let app = start(scaffold(&[])).await;
    let mut stream = TcpStream::connect(app.public).await.unwrap();
    stream.write_all(head("/nowhere", "content-length: 10\r\n").as_bytes()).await.unwrap();
    last_answer(&mut stream, 404).await;
}

#[tokio::test]
async fn who_never_stops_sending_or_never_closes_gives_its_place_up() {
    let change = |app: &mut App| app.limits.times.farewell = (Duration::from_millis(100), Duration::from_millis(500));
    let app = start_with(scaffold(&["--max-connections", "1"]), change).await;
    let head = head("/nowhere", &format!("content-length: {}\r\n", u64::MAX / 2));
    let mut silent = TcpStream::connect(app.public).await.unwrap();
    silent.write_all(head.as_bytes()).await.unwrap();
    assert_eq!(answer(&mut silent).await.0, 404);
    // The silent one has the only place, for a moment.
    let next = async {
        loop {
            let mut stream = TcpStream::connect(app.public).await.unwrap();
            stream.write_all(head.as_bytes()).await.unwrap();
            if answer(&mut stream).await.0 == 404 {
                return stream;
            }
        }
    };
    let mut endless = tokio::time::timeout(Duration::from_secs(30), next).await.expect("a place");
    let cut_off = async { while endless.write_all(&[b'x'; 1_024]).await.is_ok() {} };
    tokio::time::timeout(Duration::from_secs(30), cut_off).await.expect("an end to it");
}
