//! The listener: one thread with a runtime of its own, so that a test can block without stopping AWS.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::dispatch::handle;
use super::fault::Cut;
use super::shared::{Connection, Shared, lock};

/// What the listener should be doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Listen,
    /// Connections are refused.
    Refuse,
    Stop,
}

/// The thread, and the line to it.
pub(crate) struct Server {
    wish: watch::Sender<Wish>,
    /// What the listener has come to do.
    state: watch::Receiver<Wish>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// A listener on a free port of the loopback interface, not served yet.
    pub(crate) fn bind() -> std::io::Result<(TcpListener, SocketAddr)> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    }

    pub(crate) fn start(shared: Arc<Shared>, listener: TcpListener, address: SocketAddr) -> std::io::Result<Self> {
        let (wish, wishes) = watch::channel(Wish::Listen);
        let (done, state) = watch::channel(Wish::Listen);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let run = move || {
            runtime.block_on(async move {
                if let Err(error) = serve(shared, listener, address, wishes, done).await {
                    eprintln!("the scripted AWS stopped: {error}");
                }
            });
        };
        let thread = std::thread::Builder::new().name("scripted-aws".into()).spawn(run)?;
        Ok(Self { wish, state, thread: Some(thread) })
    }

    /// Refuses connections from now on, or takes them again, and waits until that is so.
    pub(crate) async fn refuse(&mut self, refuse: bool) {
        let wish = if refuse { Wish::Refuse } else { Wish::Listen };
        self.wish.send_replace(wish);
        // An error means that the thread has ended, which serve() has reported.
        let _ = self.state.wait_for(|state| *state == wish).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.wish.send_replace(Wish::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve(
    shared: Arc<Shared>,
    listener: TcpListener,
    address: SocketAddr,
    mut wishes: watch::Receiver<Wish>,
    done: watch::Sender<Wish>,
) -> std::io::Result<()> {
    listener.set_nonblocking(true)?;
    let mut listener = Some(tokio::net::TcpListener::from_std(listener)?);
    // While connections are refused, its port is kept: bound, so that nobody else gets it, and not listened on.
    let mut kept = None;
    loop {
        let accepted = async {
            match &listener {
                Some(listener) => listener.accept().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            accepted = accepted => {
                // A connection that is gone before it is taken is no concern of ours.
                let Ok((stream, _)) = accepted else { continue };
                let number = shared.connections_opened.fetch_add(1, Ordering::SeqCst);
                let connection = Arc::new(Connection::default());
                lock(&shared.connections).insert(number, Arc::clone(&connection));
                shared.changed();
                let shared = Arc::clone(&shared);
                tokio::spawn(async move {
                    talk(&shared, stream, connection).await;
                    lock(&shared.connections).remove(&number);
                    shared.changed();
                });
            }
            wished = wishes.changed() => {
                let wish = if wished.is_ok() { *wishes.borrow_and_update() } else { Wish::Stop };
                match wish {
                    Wish::Stop => return Ok(()),
                    Wish::Refuse => {
                        drop(listener.take());
                        let socket = tokio::net::TcpSocket::new_v4()?;
                        socket.set_reuseaddr(true)?;
                        socket.bind(address)?;
                        kept = Some(socket);
                    }
                    Wish::Listen => {
                        if let Some(socket) = kept.take() {
                            listener = Some(socket.listen(1_024)?);
                        }
                    }
                }
                done.send_replace(wish);
            }
        }
    }
}

/// One connection, until its client, an error or the script ends it.
async fn talk(shared: &Arc<Shared>, stream: TcpStream, connection: Arc<Connection>) {
    // Without it small answers wait for an acknowledgement; a failure only costs time.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| handle(Arc::clone(shared), Arc::clone(&connection), request));
    let mut http = http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        // Errors are connections that the client has dropped.
        _ = &mut http => {}
        () = connection.cutting.notified() => {
            let stream = http.into_parts().io.into_inner();
            if *lock(&connection.cut) == Some(Cut::Reset) {
                let _ = stream.set_zero_linger();
            }
        }
    }
}
