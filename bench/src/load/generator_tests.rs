use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};

use super::*;
use crate::load::Target;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 23\r\n\r\n{\"message_id\": \"abc-1\"}";

/// A server that answers each connection's requests, the `slow`th request of all only after `pause`.
fn server(slow: usize, pause: Duration) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let count = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, count) = (stream.unwrap(), count.clone());
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                while stream.read(&mut buffer).is_ok_and(|read| read > 0) {
                    if count.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == slow {
                        std::thread::sleep(pause);
                    }
                    if stream.write_all(ANSWER).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

fn plan(to: SocketAddr) -> Plan {
    let target = Target::post("/producer", "acme", "{}");
    Plan::closed(to, target, 1, Duration::from_secs(60))
}

#[test]
fn in_open_loop_a_stall_is_charged_to_everyone_who_was_due_meanwhile() {
    let stall = Duration::from_millis(500);
    let plan = Plan { rate: Some(200.0), most: Some(200), ..plan(server(20, stall)) };
    let outcome = run(&plan).unwrap();
    assert_eq!(outcome.ok(), 200);
    // 100 of the 200 were due during the stall and waited for its end, the longest for all of it.
    assert!(outcome.latencies.at(0.70) >= 50.0, "{}", outcome.latencies.at(0.70));
    assert!(outcome.latencies.at(0.99) >= 450.0, "{}", outcome.latencies.at(0.99));
}

#[test]
fn in_closed_loop_a_stall_is_one_slow_answer() {
    let plan = Plan { most: Some(200), ..plan(server(20, Duration::from_millis(500))) };
    let outcome = run(&plan).unwrap();
    assert_eq!((outcome.ok(), outcome.failed()), (200, 0));
    assert!(outcome.latencies.quantiles().max >= 500.0);
    assert!(outcome.latencies.at(0.99) < 500.0);
}

#[test]
fn a_fixed_rate_is_kept() {
    let plan =
        Plan { connections: 8, rate: Some(1_000.0), most: Some(500), ..plan(server(usize::MAX, Duration::ZERO)) };
    let outcome = run(&plan).unwrap();
    assert_eq!(outcome.ok(), 500);
    assert!(outcome.took >= Duration::from_millis(499), "{:?}", outcome.took);
}

#[test]
fn ids_are_kept_with_the_time_their_request_was_due() {
    let before = clock::epoch_micros();
    let plan = Plan { rate: Some(100.0), most: Some(3), keep_ids: true, ..plan(server(usize::MAX, Duration::ZERO)) };
    let ids = run(&plan).unwrap().ids;
    assert!(ids.iter().all(|(id, _)| id == "abc-1"));
    assert_eq!(ids.iter().map(|(_, due)| due - ids[0].1).collect::<Vec<_>>(), [0, 10_000, 20_000]);
    assert!((before..=clock::epoch_micros()).contains(&ids[0].1));
}

#[test]
fn a_request_whose_connection_ends_is_lost_and_the_load_goes_on() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for (index, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let mut buffer = [0; 4096];
            while index > 0 && stream.read(&mut buffer).is_ok_and(|read| read > 0) {
                stream.write_all(ANSWER).unwrap();
            }
            // The first connection ends after its first request has come.
            let _ = stream.read(&mut buffer);
        }
    });
    let outcome = run(&Plan { most: Some(10), ..plan(address) }).unwrap();
    assert_eq!((outcome.ok(), outcome.lost), (9, 1));
}

#[test]
fn a_request_without_an_answer_is_lost_when_patience_ends() {
    let server = server(0, Duration::from_secs(60));
    let plan = Plan { most: Some(1), time: Duration::ZERO, patience: Duration::from_millis(200), ..plan(server) };
    // In open loop the first request is due at once, whatever the time.
    let outcome = run(&Plan { rate: Some(1.0), time: Duration::from_millis(1), ..plan }).unwrap();
    assert_eq!((outcome.ok(), outcome.lost), (0, 1));
}
