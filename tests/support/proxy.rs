//! A way to a broker that a test can cut on the client's side alone.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::ports::Port;

/// Passes bytes between clients and one broker. What a cut leaves open towards the broker stays
/// open until this value is dropped, as behind a router that lost a connection: the broker does
/// not notice that its client is gone.
pub(crate) struct Proxy {
    port: Port,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    links: Mutex<Vec<Link>>,
    closed: AtomicBool,
}

impl State {
    fn links(&self) -> MutexGuard<'_, Vec<Link>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Link {
    client: TcpStream,
    broker: TcpStream,
}

impl Proxy {
    /// Listens; the broker need not be there yet.
    pub(crate) fn new() -> Self {
        Self { port: Port::free(), state: Arc::default() }
    }

    /// Where clients connect, to be the broker's advertised address.
    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port.number())
    }

    /// Leads every connection to `broker` from now on.
    #[track_caller]
    pub(crate) fn lead_to(&self, broker: String) {
        let listener = TcpListener::bind(self.address())
            .unwrap_or_else(|e| panic!("cannot listen at {}: {e}", self.address()));
        let state = self.state.clone();
        thread::spawn(move || {
            for client in listener.incoming() {
                if state.closed.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(client) = client else { continue };
                // Refused as long as there is no broker.
                let Ok(broker) = TcpStream::connect(&broker) else { continue };
                if let Ok(link) = Link::start(client, broker) {
                    state.links().push(link);
                }
            }
        });
    }

    /// Connections so far.
    pub(crate) fn count(&self) -> usize {
        self.state.links().len()
    }

    /// Ends the connections that clients have opened since there were `after` of them, unnoticed
    /// by the broker. Returns how many those are.
    pub(crate) fn cut_clients(&self, after: usize) -> usize {
        let links = self.state.links();
        let cut = links.iter().skip(after).map(|link| link.client.shutdown(Shutdown::Both));
        cut.filter(Result::is_ok).count()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.closed.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts.
        drop(TcpStream::connect(self.address()));
        for link in self.state.links().drain(..) {
            let _ = link.client.shutdown(Shutdown::Both);
            let _ = link.broker.shutdown(Shutdown::Both);
        }
    }
}

impl Link {
    fn start(client: TcpStream, broker: TcpStream) -> std::io::Result<Self> {
        client.set_nodelay(true)?;
        broker.set_nodelay(true)?;
        // A client that ends is not passed on; only the broker's own end is.
        copy(client.try_clone()?, broker.try_clone()?, None);
        copy(broker.try_clone()?, client.try_clone()?, Some(client.try_clone()?));
        Ok(Self { client, broker })
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream, ends: Option<TcpStream>) {
    thread::spawn(move || {
        let mut bytes = vec![0; 64 * 1024];
        while let Ok(n @ 1..) = from.read(&mut bytes) {
            if to.write_all(&bytes[..n]).is_err() {
                // The broker's answers go nowhere, and it must not notice.
                while ends.is_some() && matches!(from.read(&mut bytes), Ok(1..)) {}
                break;
            }
        }
        if let Some(ends) = ends {
            let _ = ends.shutdown(Shutdown::Both);
        }
    });
}
