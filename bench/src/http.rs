//! HTTP/1.1 in the little that is needed: framing of requests and answers with `Content-Length`.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use httparse::{EMPTY_HEADER, Header, Status};

/// Headers that a message may have.
const MOST_HEADERS: usize = 64;

/// How long the control routes may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// The frame of a message at the start of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Frame<T> {
    /// The head has not come in whole.
    More,
    /// The head is there; with its body the message has `total` bytes.
    Head { head: T, body_at: usize, total: usize },
    /// This is no such message.
    Bad(&'static str),
}

/// What matters of a request's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    /// `X-Amz-Target`: service and operation.
    pub(crate) target: Option<&'a str>,
    /// The client closes the connection after this.
    pub(crate) close: bool,
}

/// The head of the request that `buffer` begins with.
pub(crate) fn request(buffer: &[u8]) -> Frame<Request<'_>> {
    let mut headers = [EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let body_at = match parsed.parse(buffer) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) => return Frame::More,
        Err(_) => return Frame::Bad("not an HTTP/1.1 request"),
    };
    let (method, path) = (parsed.method.unwrap_or_default(), parsed.path.unwrap_or_default());
    let Some(fields) = Fields::read(parsed.headers) else {
        return Frame::Bad("a body needs a Content-Length");
    };
    let head = Request { method, path, target: fields.target, close: fields.close };
    Frame::Head { head, body_at, total: body_at + fields.length }
}

/// What matters of an answer's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The server closes the connection after this.
    pub(crate) close: bool,
}

/// The head of the answer that `buffer` begins with.
pub(crate) fn answer(buffer: &[u8]) -> Frame<Answer> {
    let mut headers = [EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Response::new(&mut headers);
    let body_at = match parsed.parse(buffer) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) => return Frame::More,
        Err(_) => return Frame::Bad("not an HTTP/1.1 answer"),
    };
    let status = parsed.code.unwrap_or_default();
    // Werkzeug, which serves the reference, answers with HTTP/1.0 or 1.1 and closes; without a length it ends at the close.
    let Some(fields) = Fields::read(parsed.headers) else {
        return Frame::Bad("an answer without Content-Length");
    };
    Frame::Head { head: Answer { status, close: fields.close }, body_at, total: body_at + fields.length }
}

#[derive(Default)]
struct Fields<'a> {
    length: usize,
    target: Option<&'a str>,
    close: bool,
}

impl<'a> Fields<'a> {
    fn read(headers: &[Header<'a>]) -> Option<Self> {
        let mut fields = Self::default();
        for header in headers {
            let text = || std::str::from_utf8(header.value).ok().map(str::trim);
            match header.name.len() {
                12 if header.name.eq_ignore_ascii_case("x-amz-target") => fields.target = text(),
                14 if header.name.eq_ignore_ascii_case("content-length") => fields.length = text()?.parse().ok()?,
                10 if header.name.eq_ignore_ascii_case("connection") => {
                    fields.close = text().is_some_and(|value| value.eq_ignore_ascii_case("close"));
                }
                17 if header.name.eq_ignore_ascii_case("transfer-encoding") => return None,
                _ => {}
            }
        }
        Some(fields)
    }
}

/// One request on a connection of its own; the answer's status and body.
///
/// # Errors
/// What the network says, or an answer that is none.
pub(crate) fn call(to: SocketAddr, method: &str, path: &str, body: &str) -> io::Result<(u16, Vec<u8>)> {
    let mut stream = TcpStream::connect(to)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    )?;
    let mut whole = Vec::new();
    let mut part = vec![0; 64 * 1024];
    loop {
        if let Frame::Head { head, body_at, total } = answer(&whole)
            && whole.len() >= total
        {
            return Ok((head.status, whole.split_off(body_at)));
        }
        let count = stream.read(&mut part)?;
        if count == 0 {
            let text = format!("{method} {path}: the connection ended after {} bytes", whole.len());
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, text));
        }
        whole.extend_from_slice(part.get(..count).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_whole_when_its_content_length_has_come_in() {
        let bytes = b"POST /q HTTP/1.1\r\nX-Amz-Target: AmazonSQS.SendMessage\r\ncontent-length: 5\r\n\r\nhello";
        let head = Request { method: "POST", path: "/q", target: Some("AmazonSQS.SendMessage"), close: false };
        assert_eq!(request(bytes), Frame::Head { head, body_at: bytes.len() - 5, total: bytes.len() });
        assert_eq!(request(&bytes[..30]), Frame::More);
        assert_eq!(
            request(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"),
            Frame::Bad("a body needs a Content-Length")
        );
        assert_eq!(request(b"\x16\x03\x01\x02"), Frame::Bad("not an HTTP/1.1 request"));
    }

    #[test]
    fn an_answer_says_its_status_and_whether_the_connection_goes_on() {
        let bytes = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}";
        let head = Answer { status: 503, close: true };
        assert_eq!(answer(bytes), Frame::Head { head, body_at: bytes.len() - 2, total: bytes.len() });
    }
}
