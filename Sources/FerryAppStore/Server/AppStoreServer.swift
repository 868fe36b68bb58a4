internal import FerryHTTP1
public import FerryOpenSSL
package import FerryServer
package import NIOCore
public import ServiceLifecycle

/// A listener for the posts of the App Store: HTTP/1.1 over TLS, or without TLS behind a proxy that ends TLS.
///
/// | bound | value |
/// |---|---|
/// | connections | ``Configuration/connectionLimit``; see below for a further connection |
/// | body | 256 KiB; with version 1, 2 MiB |
/// | all bodies together | 128 MiB; beyond it, the server closes the non-idle connection that has waited longest |
/// | from the head of a request to its end | 10 s |
/// | from the end of a request to its answer | ``AppStoreReceiver/answerLimit`` (3 s) unless the receiver has another |
/// | from the start of a connection, or from an answer, to the head of the next request | 30 s |
///
/// For a connection beyond the limit, the server closes the connection that has been idle for longest. If no
/// connection is idle, the server closes the connection that has waited longest for its client to send a request or
/// to read an answer.
public final class AppStoreServer: Service {
    /// The address, the path and the certificate of a server.
    public struct Configuration: Sendable {
        /// The host to listen on: a name or an address.
        public var host = "127.0.0.1"
        /// The port; 0 for any.
        public var port = 0
        /// The path of the URL that App Store Connect has. Requests for other paths are answered with 404.
        public var path = "/"
        /// The certificate and key of the URL's host; nil for no TLS, behind a proxy that ends TLS.
        public var identity: TLSIdentity?
        /// The largest number of open connections, at least 1; less if the process may open fewer files.
        public var connectionLimit = 16_384
        /// The largest number of connections that the process itself makes. The server leaves this number of file
        /// descriptors free.
        public var outgoingConnections = 0
        /// A socket that listens already, in place of ``host`` and ``port``.
        package var passed: PassedSocket?
        /// The take-over of the address from a process that ends: the start waits for the address. If nil, the start
        /// fails while another process has the address. Not used with ``passed``.
        package var succession: Succession?

        /// A function that gets the status of the answer to each POST that arrived whole, and the time since the last
        /// byte of the POST, on any thread. It must not block.
        package var onAnswer: (@Sendable (_ status: Int, _ time: Duration) -> Void)?

        /// Makes a configuration for this machine only: any free port of 127.0.0.1, the path `/`, no TLS.
        public init() {}
    }

    /// The largest number of connections that wait to be accepted.
    private static let queueLimit = 4096

    private let receiver: AppStoreReceiver
    private let server: HTTPServer

    /// The port that is listened on.
    public var port: Int { self.server.port }
    /// The address that is listened on.
    package var host: String { self.server.host }
    /// The counts of the connections, and the number of open ones. The call holds a lock for a few instructions.
    package var connections: (counts: ConnectionCounts, open: Int) {
        (self.server.counts, self.server.openConnections)
    }
    /// The event loop of the listener. A watchdog watches it.
    package var eventLoop: any EventLoop { self.server.eventLoop }

    /// Starts listening. Requests are answered from now on.
    ///
    /// - Throws: ``TLSError``, or a socket error when the address cannot be bound.
    public static func start(_ receiver: AppStoreReceiver, _ configuration: Configuration) async throws
        -> AppStoreServer
    {
        var settings = Listener.Configuration()
        settings.host = configuration.host
        settings.port = configuration.port
        settings.passed = configuration.passed
        let room = DescriptorLimit.current.connections(.max) - configuration.outgoingConnections
        settings.limits.connections = max(1, min(configuration.connectionLimit, room))
        // The queue is long. If it is full, Linux drops the packets that open a connection, and the client sends them
        // again only after a second.
        settings.limits.queue = Self.queueLimit
        settings.tls = try configuration.identity.map { try TLSContext(server: .init(identity: $0)) }
        let (path, onAnswer) = (configuration.path, configuration.onAnswer)
        let (listening, limits) = (settings, HTTPServer.Limits(body: receiver.bodyLimit))
        let start: @Sendable () async throws -> HTTPServer = {
            try await HTTPServer.start(listening, limits: limits) { request, received in
                let status: Int
                if request.path == path {
                    let post = AppStoreRequest(method: request.method, body: request.body, received: received)
                    status = await receiver.answer(to: post)
                } else {
                    status = receiver.misdirected(404)
                }
                if request.method == "POST" { onAnswer?(status, ContinuousClock.now - received) }
                return .init(status: status)
            }
        }
        guard let succession = configuration.succession, listening.passed == nil else {
            return AppStoreServer(receiver, try await start())
        }
        let address = Succession.Thing.address(host: listening.host, port: listening.port)
        return AppStoreServer(receiver, try await succession.take(address, isTaken: Listener.isTaken, start))
    }

    private init(_ receiver: AppStoreReceiver, _ server: HTTPServer) {
        self.receiver = receiver
        self.server = server
    }

    /// Waits until the task is cancelled or the service group shuts down, then stops within 5 s.
    public func run() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled { try? await Task.sleep(for: .seconds(3600)) }
        }
        await self.stop(within: .seconds(5))
    }

    /// Stops accepting, answers the requests that have begun, and closes. Connections that are still open after
    /// `limit` are closed without an answer. New connections to a passed socket wait for the next process.
    public func stop(within limit: Duration) async {
        // The stop has its own task. In a cancelled task, its waits would end at once, and running requests would get
        // no answer.
        await Task {
            let end = ContinuousClock.now + limit
            await self.server.quiesce(within: limit)
            await self.receiver.shutDown(within: max(end - .now, .zero))
        }.value
    }
}
