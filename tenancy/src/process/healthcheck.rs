//! `SERVICE healthcheck [URL]`: a probe for images that carry no shell and no curl.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How long the answer may take.
const TIME: Duration = Duration::from_secs(3);

pub(super) fn run(url: Option<&str>) -> ExitCode {
    let port = std::env::var("ADMIN_PORT").unwrap_or_else(|_| "9090".to_owned());
    let url = url.map_or_else(|| format!("http://127.0.0.1:{port}/readyz"), str::to_owned);
    match check(&url) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            let _ = writeln!(std::io::stderr(), "{url}: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn check(url: &str) -> Result<(), String> {
    let until = Instant::now() + TIME;
    let uri: http::Uri = url.parse().map_err(|_| "not a URL".to_owned())?;
    let (Some("http"), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return Err("not an http URL".to_owned());
    };
    let address = (authority.host().trim_matches(['[', ']']), authority.port_u16().unwrap_or(80));
    let mut addresses = address.to_socket_addrs().map_err(|error| error.to_string())?;
    let address = addresses.next().ok_or("the host has no address")?;
    let mut stream = TcpStream::connect_timeout(&address, TIME).map_err(|error| error.to_string())?;
    let path = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let request = format!("GET {path} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\n\r\n");
    stream.set_write_timeout(Some(TIME)).map_err(|error| error.to_string())?;
    stream.write_all(request.as_bytes()).map_err(|error| error.to_string())?;
    let status = status_line(&mut stream, until)?;
    match status.split(' ').nth(1) {
        Some("200") => Ok(()),
        Some(code) => Err(format!("answered {code}")),
        None => Err("did not answer in HTTP".to_owned()),
    }
}

/// The first line of the answer, as far as it is needed.
fn status_line(stream: &mut TcpStream, until: Instant) -> Result<String, String> {
    let mut line = Vec::with_capacity(64);
    while !line.contains(&b'\n') && line.len() < 256 {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(format!("did not answer within {} s", TIME.as_secs()));
        }
        stream.set_read_timeout(Some(left)).map_err(|error| error.to_string())?;
        let mut bytes = [0; 64];
        match stream.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => line.extend_from_slice(&bytes[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn answer(text: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let _ = stream.read(&mut request).unwrap();
            stream.write_all(text.as_bytes()).unwrap();
        });
        format!("http://{address}/readyz")
    }

    #[test]
    fn only_a_200_is_health() {
        assert_eq!(check(&answer("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")), Ok(()));
        assert_eq!(check(&answer("HTTP/1.1 503 Service Unavailable\r\n\r\n")), Err("answered 503".to_owned()));
        assert_eq!(check(&answer("nonsense\r\n")), Err("did not answer in HTTP".to_owned()));
        assert_eq!(check("ftp://127.0.0.1/"), Err("not an http URL".to_owned()));
        assert!(check("http://127.0.0.1:1/readyz").is_err());
    }
}
