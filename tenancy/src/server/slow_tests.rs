//! Peers that dawdle: over a head, between requests, over an answer, and when the app is to end.

use tokio::net::TcpSocket;

use super::super::pace::Times;
use super::*;

const REQUEST: &[u8] = b"GET /test HTTP/1.1\r\nhost: x\r\n\r\n";

/// Asks for more than fits in the buffers between the two, and takes none of it.
async fn one_that_never_reads(address: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let mut stream = socket.connect(address).await.unwrap();
    stream.write_all(b"GET /test/openapi.json HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    // The answer has begun.
    assert_eq!(stream.peek(&mut [0]).await.unwrap(), 1);
    stream
}

/// More than any buffer on the way takes off a service's hands.
const LARGE: usize = 16 << 20;

fn with_a_large_answer(args: &[&str]) -> Scaffold {
    scaffold(args).document("x".repeat(LARGE).leak())
}

#[tokio::test]
async fn a_peer_that_dawdles_over_its_head_is_cut_off_and_one_that_idles_is_closed_later() {
    let change = |app: &mut App| {
        app.limits.times.head = Duration::from_millis(300);
        app.limits.times.idle = Duration::from_secs(2);
    };
    let app = start_with(scaffold(&[]), change).await;
    let mut silent = TcpStream::connect(app.public).await.unwrap();
    let mut slow = TcpStream::connect(app.public).await.unwrap();
    slow.write_all(b"GET /te").await.unwrap();
    let mut idle = TcpStream::connect(app.public).await.unwrap();
    idle.write_all(REQUEST).await.unwrap();
    let mut answer = [0; 1024];
    assert!(idle.read(&mut answer).await.unwrap() > 0);
    assert_eq!(read_all(&mut silent).await, "");
    assert_eq!(read_all(&mut slow).await, "");
    // The idle one is older than a head's time by now.
    tokio::time::sleep(Duration::from_millis(100)).await;
    idle.write_all(REQUEST).await.unwrap();
    assert!(idle.read(&mut answer).await.unwrap() > 0);
    let answered = Instant::now();
    assert_eq!(read_all(&mut idle).await, "");
    let idled = answered.elapsed();
    assert!((Duration::from_millis(1_900)..Duration::from_secs(7)).contains(&idled), "{idled:?}");
    let times = Times::default();
    assert_eq!((times.head, times.idle), (Duration::from_secs(10), Duration::from_secs(75)));
}

#[tokio::test]
async fn a_peer_that_takes_no_byte_of_its_answer_loses_its_connection() {
    let time = Duration::from_millis(500);
    let change = |app: &mut App| app.limits.times.write = time;
    let app = start_with(with_a_large_answer(&["--max-connections", "1"]), change).await;
    let began = Instant::now();
    let mut held = one_that_never_reads(app.public).await;
    // It has the only place.
    let mut turned_away = 0;
    let again = async {
        while get_with(app.public, "/test", "").await.0 != 200 {
            turned_away += 1;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, again).await.expect("its place is free");
    assert!(turned_away > 0 && began.elapsed() >= time, "free after {:?}", began.elapsed());
    let taken = read_all(&mut held).await.len();
    assert!(taken < LARGE, "it has got all of it");
    assert_eq!(Times::default().write, Duration::from_secs(30));
}

#[tokio::test]
async fn a_client_that_takes_no_answer_does_not_keep_the_app_from_ending_in_time() {
    let app = start(with_a_large_answer(&["--shutdown-timeout", "1s"])).await;
    let mut held = one_that_never_reads(app.public).await;
    let began = Instant::now();
    app.stop.cancel();
    let _ = app.end.await.unwrap();
    let took = began.elapsed();
    assert!((Duration::from_secs(1)..Duration::from_secs(5)).contains(&took), "{took:?}");
    let taken = read_all(&mut held).await.len();
    assert!(taken < LARGE, "the connection outlives the app");
}
