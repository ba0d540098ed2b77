//! What the server tells a peer that speaks HTTP/2, frame by frame; the services' tests speak it through a client.

use super::*;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// An empty SETTINGS frame.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

/// The next frame: its type and what it holds.
async fn frame(stream: &mut (impl AsyncReadExt + Unpin)) -> (u8, Vec<u8>) {
    let read = async {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await.unwrap();
        let mut payload = vec![0; usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2])];
        stream.read_exact(&mut payload).await.unwrap();
        (head[3], payload)
    };
    tokio::time::timeout(Duration::from_secs(30), read).await.expect("a frame")
}

#[tokio::test]
async fn its_bounds_are_said_at_the_start_of_the_connection() {
    let app = start(scaffold(&[])).await;
    let mut stream = TcpStream::connect(app.public).await.unwrap();
    stream.write_all(&[PREFACE, SETTINGS].concat()).await.unwrap();
    let (kind, payload) = frame(&mut stream).await;
    assert_eq!(kind, 4, "SETTINGS comes first");
    let setting = |id: u8| {
        let all = payload.chunks(6).find(|setting| setting[..2] == [0, id]);
        all.map(|setting| u32::from_be_bytes([setting[2], setting[3], setting[4], setting[5]]))
    };
    let (streams, window, head) = (setting(3), setting(4), setting(6));
    assert_eq!((streams, window, head), (Some(256), Some(65_536), Some(16_384)));
}

#[tokio::test]
async fn a_peer_that_says_nothing_after_the_preface_is_cut_off() {
    let app = start_with(scaffold(&[]), |app| app.limits.times.head = Duration::from_millis(200)).await;
    let mut stream = TcpStream::connect(app.public).await.unwrap();
    stream.write_all(&[PREFACE, SETTINGS].concat()).await.unwrap();
    read_all(&mut stream).await;
}

#[tokio::test]
async fn streams_that_are_opened_only_to_be_reset_end_the_connection() {
    let app = start(scaffold(&[])).await;
    let mut stream = TcpStream::connect(app.public).await.unwrap();
    stream.write_all(&[PREFACE, SETTINGS].concat()).await.unwrap();
    // GET /test with the static table of HPACK alone: method 2, scheme 6, path as a literal with indexed name 4.
    let block = [&[0x82, 0x86, 0x04, 0x05][..], b"/test"].concat();
    let mut flood = Vec::new();
    for number in 0..10_000_u32 {
        let id = (2 * number + 1).to_be_bytes();
        flood.extend([&[0, 0, 9, 1, 0x05][..], &id, &block, &[0, 0, 4, 3, 0], &id, &[0, 0, 0, 8]].concat());
    }
    let (reader, mut writer) = stream.into_split();
    // It is held until the end, so that the connection is not ended from here.
    let sending = tokio::spawn(async move {
        let _ = writer.write_all(&flood).await;
        writer
    });
    let mut reader = tokio::io::BufReader::new(reader);
    let going_away = async {
        loop {
            if let (7, payload) = frame(&mut reader).await {
                return payload;
            }
        }
    };
    let payload = tokio::time::timeout(Duration::from_secs(30), going_away).await.expect("GOAWAY");
    assert_eq!(payload[4..8], [0, 0, 0, 11], "ENHANCE_YOUR_CALM");
    drop(sending.await.unwrap());
    assert_eq!(get_with(app.public, "/test", "").await.0, 200);
}
