internal import FerryOpenSSL
internal import FerryPlatform
@testable internal import FerryServer
internal import FerryServiceWorld
internal import Foundation
internal import NIOCore
internal import NIOPosix
internal import Synchronization
internal import Testing

@Suite(.timeLimit(.minutes(10)))
struct ListenerTests {
    typealias Accept = @Sendable (AcceptedConnection) throws -> (any ChannelHandler)?

    /// Runs a listener during the call of the body.
    static func with(
        on group: (any EventLoopGroup)? = nil,
        configure: (inout Listener.Configuration) throws -> Void = { _ in },
        accept: @escaping Accept = { _ in Echo() },
        _ body: (Listener) async throws -> Void
    ) async throws {
        var configuration = Listener.Configuration()
        try configure(&configuration)
        let listener = try await Listener.bind(configuration, on: group, accept: accept)
        do {
            try await body(listener)
        } catch {
            await listener.stop(within: .seconds(60))
            throw error
        }
        await listener.stop(within: .seconds(60))
    }

    static func reaches(_ condition: () -> Bool) async throws {
        while !condition() { try await Task.sleep(for: .milliseconds(1)) }
    }

    @Test func `binds a free port and counts what comes`() async throws {
        let numbers = Mutex<[Int]>([])
        try await Self.with(accept: { connection in
            numbers.withLock { $0.append(connection.number) }
            #expect(connection.channel.remoteAddress?.ipAddress == "127.0.0.1")
            return Echo()
        }) { listener in
            #expect(listener.port > 0)
            for text in ["one", "two"] {
                let client = try await Client.connect(to: listener)
                client.send(text)
                #expect(try await client.received() == text)
            }
            #expect(listener.counts.connections == 2)
            #expect(listener.counts.handshakes == 0)
            #expect(listener.counts.waits == 0)
        }
        #expect(numbers.withLock { $0 } == [1, 2])
    }

    @Test func `the end of a listener serves the connections in the system's queue`() async throws {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        try await Self.with(on: eventLoop, configure: { $0.isPaused = true }) { listener in
            var clients: [Client] = []
            for _ in 0..<20 { clients.append(try await Client.connect(to: listener)) }
            listener.begin()
            await listener.closeAfterQueue(within: .seconds(60))
            #expect(!listener.isOpen)
            for client in clients {
                client.send("late")
                #expect(try await client.received() == "late")
            }
            await #expect(throws: (any Error).self) { _ = try await Client.connect(to: listener) }
        }
    }

    @Test func `the end of a listener that accepts nobody waits no longer than its limit`() async throws {
        try await Self.with(configure: { $0.isPaused = true }) { listener in
            let client = try await Client.connect(to: listener)
            await listener.closeAfterQueue(within: .milliseconds(20))
            #expect(!listener.isOpen)
            // The system resets or ends the connection.
            let received = (try? await client.received()) ?? ""
            #expect(received.isEmpty)
        }
    }

    #if os(Linux)
    @Test(arguments: [false, true])
    func `an accepted connection is probed while its client is silent`(isPassed: Bool) async throws {
        let parent = isPassed ? try ParentSocket() : nil
        let found = Mutex<[CInt: SocketOptionValue]>([:])
        try await Self.with(
            configure: { configuration in
                configuration.passed = try parent.map { try PassedSocket($0.passed(), name: "binary") }
            },
            accept: { connection in
                let options = try #require(connection.channel.syncOptions)
                #expect(try options.getOption(.socketOption(.so_keepalive)) != 0)
                for name in [TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT] {
                    let value = try options.getOption(.tcpOption(NIOBSDSocket.Option(rawValue: name)))
                    found.withLock { $0[name] = value }
                }
                return Echo()
            }
        ) { listener in
            let client = try await Client.connect(to: listener)
            client.send("one")
            #expect(try await client.received() == "one")
        }
        #expect(found.withLock { $0 } == [TCP_KEEPIDLE: 120, TCP_KEEPINTVL: 75, TCP_KEEPCNT: 9])
    }
    #endif

    @Test func `a socket in the file system is for its owner alone`() async throws {
        let path = "/tmp/ferry-\(UInt32.random(in: 0 ... .max))"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await Self.with(configure: { $0.socketPath = path }) { _ in
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
            #expect(mode?.intValue == 0o600)
        }
    }

    @Test func `a socket that is closed for a while refuses, and the open connections and their limit stay`()
        async throws
    {
        try await Self.with(configure: { $0.limits.connections = 2 }) { listener in
            let first = try await Client.connect(to: listener)
            first.send("one")
            #expect(try await first.received() == "one")
            listener.suspend()
            try await Self.reaches { !listener.isOpen }
            await #expect(throws: (any Error).self) { _ = try await Client.connect(to: listener) }
            let port = listener.port
            try await Self.reopen(listener)
            #expect(listener.port == port)
            let second = try await Client.connect(to: listener)
            second.send("two")
            #expect(try await second.received() == "two")
            // The third one waits, because the first one counts.
            let third = try await Client.connect(to: listener)
            try await Self.reaches { listener.counts.waits == 1 }
            third.close()
        }
    }

    @Test func `a listener that is closed is not opened again`() async throws {
        try await Self.with { listener in
            listener.close()
            try await Self.reaches { !listener.isOpen }
            try await listener.reopen()
            #expect(!listener.isOpen)
        }
    }

    private static func reopen(_ listener: Listener) async throws {
        while !listener.isOpen { try await listener.reopen() }
    }

    @Test func `an address that is taken is an error`() async throws {
        try await Self.with { listener in
            await #expect(throws: (any Error).self) {
                try await Self.with(configure: { $0.port = listener.port }) { _ in }
            }
        }
    }

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `speaks TLS, and counts how handshakes end`(version: TLSVersion) async throws {
        let authority = try ThrowAwayCA()
        let server = try TLSContext(server: .init(identity: authority.server(), maximum: version))
        let trusting = try TLSContext(client: .init(trustRoots: authority.trustRoots))
        let wary = try TLSContext(client: .init(trustRoots: ThrowAwayCA().trustRoots))
        try await Self.with(configure: { $0.tls = server }) { listener in
            let friend = try await Client.connect(to: listener, tls: trusting)
            friend.send("hello")
            #expect(try await friend.received() == "hello")
            #expect(listener.counts.handshakes == 1)
            let stranger = try await Client.connect(to: listener, tls: wary)
            try await stranger.ended()
            // The client sees the end before the listener counts it.
            try await Self.reaches { listener.counts.handshakes + listener.counts.handshakeFailures == 2 }
            let plain = try await Client.connect(to: listener)
            plain.send("GET / HTTP/1.1\r\n\r\n")
            try await plain.ended()
            try await Self.reaches { listener.counts.handshakeFailures > 0 }
            #expect(listener.counts.connections == 3)
        }
    }

    @Test func `a handshake that never ends is cut off`() async throws {
        let authority = try ThrowAwayCA()
        let server = try TLSContext(server: .init(identity: authority.server()))
        try await Self.with(configure: {
            $0.tls = server
            $0.limits.handshake = .milliseconds(20)
        }) { listener in
            let silent = try await Client.connect(to: listener)
            try await silent.ended()
            try await Self.reaches { listener.counts.handshakeFailures == 1 }
            #expect(listener.counts.handshakes == 0)
        }
    }

    @Test func `connections beyond the limit wait, and are served when others have ended`() async throws {
        try await Self.with(configure: { $0.limits.connections = 2 }) { listener in
            var clients: [Client] = []
            for _ in 0..<5 { clients.append(try await Client.connect(to: listener)) }
            for client in clients { client.send("hello") }
            try await Self.reaches { listener.counts.waits > 0 }
            for (index, client) in clients.enumerated() {
                #expect(try await client.received() == "hello")
                #expect(listener.counts.connections <= 2 + index)
                client.close()
            }
            #expect(listener.counts.connections == 5)
            try await clients.last?.ended()
        }
    }

    @Test func `a listener is full only for a connection that waits, and until it has a place`() async throws {
        let news = Mutex<[Bool]>([])
        try await Self.with(configure: {
            $0.limits.connections = 2
            $0.onWait = { waits in news.withLock { $0.append(waits) } }
        }) { listener in
            var clients: [Client] = []
            for _ in 0..<2 {
                let client = try await Client.connect(to: listener)
                client.send("hello")
                #expect(try await client.received() == "hello")
                clients.append(client)
            }
            #expect(listener.counts.waits == 0)
            let third = try await Client.connect(to: listener)
            third.send("hello")
            try await Self.reaches { news.withLock { $0 } == [true] }
            #expect(listener.counts.connections == 2)
            clients[0].close()
            #expect(try await third.received() == "hello")
            #expect(news.withLock { $0 } == [true, false])
            #expect(listener.counts.waits == 1)
        }
    }

    @Test func `a client that leaves while it waits wants no place, and lets the next one wait`() async throws {
        let news = Mutex<[Bool]>([])
        let server = try TLSContext(server: .init(identity: ThrowAwayCA().server()))
        try await Self.with(configure: {
            $0.tls = server
            $0.limits.connections = 1
            $0.limits.handshake = .seconds(3600)
            $0.onWait = { waits in news.withLock { $0.append(waits) } }
        }) { listener in
            let first = try await Client.connect(to: listener)
            try await Self.reaches { listener.counts.connections == 1 }
            let second = try await Client.connect(to: listener)
            try await Self.reaches { news.withLock { $0 } == [true] }
            let third = try await Client.connect(to: listener)
            second.close()
            try await Self.reaches { news.withLock { $0 } == [true, false, true] }
            third.close()
            try await Self.reaches { news.withLock { $0 } == [true, false, true, false] }
            first.close()
        }
    }

    @Test func `a connection that waits ends with the listener`() async throws {
        try await Self.with(configure: { $0.limits.connections = 1 }) { listener in
            let first = try await Client.connect(to: listener)
            try await Self.reaches { listener.counts.connections == 1 }
            let second = try await Client.connect(to: listener)
            try await Self.reaches { listener.counts.waits == 1 }
            listener.close()
            try await second.ended()
            first.send("hello")
            #expect(try await first.received() == "hello")
        }
    }

    @Test func `a connection that cannot be handled is closed, and makes room`() async throws {
        try await Self.with(
            configure: { $0.limits.connections = 1 },
            accept: { connection in
                guard connection.number > 1 else { throw ChannelError.alreadyClosed }
                return Echo()
            }
        ) { listener in
            try await Client.connect(to: listener).ended()
            let second = try await Client.connect(to: listener)
            second.send("hello")
            #expect(try await second.received() == "hello")
        }
    }

    @Test func `a connection that is left alone hears nothing until the listener stops`() async throws {
        try await Self.with(accept: { _ in nil }) { listener in
            let client = try await Client.connect(to: listener)
            client.send("hello")
            try await Self.reaches { listener.counts.connections == 1 }
            await listener.stop(within: .seconds(60))
            #expect(try await client.received() == "")
        }
    }

    @Test func `stops with connections open, once and again, and from several tasks`() async throws {
        let authority = try ThrowAwayCA()
        let server = try TLSContext(server: .init(identity: authority.server()))
        let context = try TLSContext(client: .init(trustRoots: authority.trustRoots))
        try await Self.with(configure: { $0.tls = server }) { listener in
            var clients: [Client] = []
            for _ in 0..<3 { clients.append(try await Client.connect(to: listener, tls: context)) }
            clients.first?.send("hello")
            _ = try await clients.first?.received()
            async let one: Void = listener.stop(within: .seconds(60))
            async let other: Void = listener.stop(within: .seconds(60))
            _ = await (one, other)
            for client in clients { try await client.ended() }
            await listener.stop(within: .seconds(60))
            await #expect(throws: (any Error).self) { try await Client.connect(to: listener) }
        }
    }

    @Test func `closing keeps the connections`() async throws {
        // SwiftNIO closes a connection that another event loop is still preparing.
        try await Self.with(on: MultiThreadedEventLoopGroup.singleton.next()) { listener in
            let client = try await Client.connect(to: listener)
            try await Self.reaches { listener.counts.connections == 1 }
            listener.close()
            client.send("hello")
            #expect(try await client.received() == "hello")
        }
    }

    @Test func `quiescing lets connections come to their end`() async throws {
        try await Self.with { listener in
            let clients = try await [Client.connect(to: listener), Client.connect(to: listener)]
            try await Self.reaches { listener.counts.connections == 2 }
            #expect(await listener.quiesce(within: .seconds(60)))
            for client in clients { try await client.ended() }
            #expect(await listener.quiesce(within: .seconds(60)))
        }
    }

    @Test func `what does not come to its end is closed after the limit`() async throws {
        try await Self.with(accept: { _ in Echo(quiesces: false) }) { listener in
            let client = try await Client.connect(to: listener)
            // A connection that is counted and not yet set up would be refused, and quiescing would not wait for it.
            client.send("hello")
            #expect(try await client.received() == "hello")
            #expect(await !listener.quiesce(within: .milliseconds(20)))
            try await client.ended()
        }
    }

    @Test func `a stop overtakes quiescing`() async throws {
        try await Self.with(accept: { _ in Echo(quiesces: false) }) { listener in
            let client = try await Client.connect(to: listener)
            try await Self.reaches { listener.counts.connections == 1 }
            async let isQuiet = listener.quiesce(within: .seconds(300))
            await listener.stop(within: .seconds(60))
            try await client.ended()
            // Without the stop, this would wait for 300 seconds.
            _ = await isQuiet
        }
    }

    @Test func `what belongs to a connection is closed with the listener, and takes no place`() async throws {
        try await Self.with { upstream in
            let others = Mutex<[any Channel]>([])
            try await Self.with(
                configure: { $0.limits.connections = 2 },
                accept: { connection in
                    let eventLoop = connection.channel.eventLoop
                    let bound = NIOLoopBound(connection, eventLoop: eventLoop)
                    ClientBootstrap(group: eventLoop)
                        .channelInitializer { channel in
                            channel.eventLoop.makeCompletedFuture { try bound.value.attach(channel) }
                        }
                        .connect(host: upstream.host, port: upstream.port)
                        .whenSuccess { other in others.withLock { $0.append(other) } }
                    return Echo()
                }
            ) { listener in
                let clients = try await [Client.connect(to: listener), Client.connect(to: listener)]
                try await Self.reaches { others.withLock { $0.count } == 2 }
                #expect(listener.counts.connections == 2)
                await listener.stop(within: .seconds(60))
                for client in clients { try await client.ended() }
                for other in others.withLock({ $0 }) { try await other.closeFuture.get() }
            }
        }
    }
}
