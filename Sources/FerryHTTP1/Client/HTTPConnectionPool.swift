internal import FerryCore
internal import NIOCore

/// The idle connections of a client. Each is closed after a time without a request. Any thread may use the pool.
final class HTTPConnectionPool: Sendable {
    private let idle: Locked<HTTPIdleConnections<HTTPConnection>>
    private let time: TimeAmount

    init(limit: Int, time: Duration) {
        self.idle = Locked(HTTPIdleConnections(limit: limit))
        self.time = TimeAmount(time)
    }

    /// Takes a connection for one request; nil if no connection is idle. The connection may have ended meanwhile: ask
    /// ``HTTPConnection/isReady`` on its event loop.
    func take(_ origin: HTTPURL.Origin) -> HTTPConnection? { self.idle.withLock { $0.take(origin) } }

    /// Keeps a connection for its next request, or closes it. Call this function on the connection's event loop.
    func put(_ connection: HTTPConnection) {
        let origin = connection.origin
        guard connection.isReady, let id = self.idle.withLock({ $0.put(connection, for: origin) }) else {
            return connection.close()
        }
        connection.idle(for: self.time) {
            if self.idle.withLock({ $0.remove(id, of: origin) }) { connection.close() }
        } onEnd: {
            _ = self.idle.withLock { $0.remove(id, of: origin) }
        }
    }

    /// Closes the idle connections. Connections in use are closed after their answers.
    func close() {
        self.idle.withLock { $0.close() }
        self.closeIdle()
    }

    func closeIdle() {
        for connection in self.idle.withLock({ $0.removeAll() }) {
            connection.eventLoop.execute { connection.close() }
        }
    }
}
