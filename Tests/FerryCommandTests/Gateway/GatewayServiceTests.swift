import FerryServiceWorld
import FerryTesting
import Foundation
import Testing

/// The gateway under a service manager, and its take-over from a predecessor.
@Suite(.timeLimit(.minutes(10))) struct GatewayServiceTests {
    private static let store = ["store": #"{"path": "gateway.db"}"#] as [String: String?]

    /// Starts an APNs, calls `body` with its port, and stops it.
    private static func withAPNs(
        _ body: (GatewayHarness, Int, APNsMemoryRecorder) async throws -> Void
    ) async throws {
        try await GatewayHarness.run { harness in
            let recorder = APNsMemoryRecorder()
            var configuration = SimulatedAPNs.Configuration(credentials: harness.credentials)
            configuration.recorder = recorder
            let apns = try await SimulatedAPNs.start(configuration)
            do {
                try await body(harness, apns.port, recorder)
            } catch {
                await apns.stop()
                throw error
            }
            await apns.stop()
        }
    }

    @Test func `a passed socket serves in place of the configured address`() async throws {
        try await Self.withAPNs { harness, apns, recorder in
            let parent = try ParentSocket()
            let (gateway, port) = try await harness.start(
                port: apns,
                Self.store,
                input: parent.input,
                shell: ParentSocket.shell()
            )
            #expect(port == parent.port)
            let words = "ferry: the service manager passes the socket 'binary', which listens on 127.0.0.1:\(port)\n"
            let messages = try gateway.messages
            #expect(messages.contains(words), "\(messages)")
            #expect(try await harness.push(1...3, to: port).status == 0)
            #expect(try await eventually { recorder.requests.count == 3 })
            gateway.terminate()
            #expect(try await gateway.output().status == 0)
        }
    }

    @Test func `a socket with another name, and one that does not listen, end the start`() async throws {
        try await GatewayHarness.run { harness in
            for (name, listens, words) in [
                ("web", true, "passes a socket with the name 'web', and this program takes 'binary', 'feedback'"),
                ("binary", false, "The passed socket 'binary' does not listen"),
            ] {
                let parent = try ParentSocket(listens: listens)
                let shell = ParentSocket.shell(name)
                let gateway = try harness.begin(Self.store, input: parent.input, shell: shell)
                let output = try await gateway.output()
                #expect(output.status == 2)
                #expect(output.messages.contains(words), "\(output.messages)")
            }
        }
    }

    @Test func `a gateway of several machines takes no passed socket, and says what to do`() async throws {
        try await GatewayHarness.run { harness in
            let parent = try ParentSocket()
            let members: [String: String?] = [
                "store": #"{"postgres": "host=/nonexistent", "node": "gw1"}"#,
                "listen": #"{"port": 22000, "cert": "server.pem", "key": "server-key.pem"}"#,
            ]
            let output = try await harness.begin(members, input: parent.input, shell: ParentSocket.shell()).output()
            #expect(output.status == 2)
            let sentence =
                "ferry: The service manager passes a socket with the name 'binary', and with this configuration the "
                + "program takes none: start it by a unit without sockets, which Compat/systemd has.\n"
            #expect(output.messages == sentence, "\(output.messages)")
        }
    }

    @Test func `the service manager hears of the start, of each turn of the watchdog, and of the end`() async throws {
        try await GatewayHarness.run { harness in
            let manager = try ManagerSocket()
            let shell = "NOTIFY_SOCKET=\(manager.name) WATCHDOG_USEC=600000 WATCHDOG_PID=$$ exec \"$@\""
            let (gateway, port) = try await harness.start(Self.store, shell: shell)
            #expect(manager.next() == "READY=1\nSTATUS=Takes clients on 127.0.0.1:\(port).")
            for _ in 0..<3 { #expect(manager.next() == "WATCHDOG=1") }
            kill(gateway.processIdentifier, SIGSTOP)
            // Notices that were on their way.
            while manager.next(within: 100) != nil {}
            #expect(manager.next(within: 1500) == nil)
            kill(gateway.processIdentifier, SIGCONT)
            #expect(manager.next(beginning: "WATCHDOG=1") != nil)
            gateway.terminate()
            #expect(manager.next(beginning: "STOPPING=1\nSTATUS=") != nil)
            #expect(try await gateway.output().status == 0)
        }
    }

    @Test func `a successor waits for the store, and serves when its predecessor has ended`() async throws {
        try await Self.withAPNs { harness, apns, recorder in
            let (first, port) = try await harness.start(port: apns, Self.store)
            #expect(try await harness.push(1...3, to: port).status == 0)
            let second = try harness.begin(port: apns, Self.store)
            let words = "ferry: another process has the store; waits 60 s for its end\n"
            #expect(try await eventually { try second.messages.contains(words) })
            #expect(try await harness.push(4...6, to: port).status == 0)
            #expect(try second.result.isEmpty)
            first.terminate()
            #expect(try await first.output().status == 0)
            let next = try await harness.port(of: second)
            #expect(try await harness.push(7...9, to: next).status == 0)
            #expect(try await eventually { recorder.requests.count == 9 })
            second.terminate()
            #expect(try await second.output().status == 0)
        }
    }

    @Test func `a successor without a passed socket waits for the port`() async throws {
        try await Self.withAPNs { harness, apns, recorder in
            let (first, port) = try await harness.start(port: apns)
            let listen = #"{"port": \#(port), "cert": "server.pem", "key": "server-key.pem"}"#
            let second = try harness.begin(port: apns, ["listen": listen])
            let words = "ferry: another process listens on 127.0.0.1:\(port); waits 60 s for its end\n"
            #expect(try await eventually { try second.messages.contains(words) })
            first.terminate()
            #expect(try await first.output().status == 0)
            #expect(try await harness.port(of: second) == port)
            #expect(try await harness.push(1...3, to: port).status == 0)
            second.terminate()
            #expect(try await second.output().status == 0)
        }
    }

    @Test func `a client whose handshake has begun before the end is served`() async throws {
        try await Self.withAPNs { harness, apns, recorder in
            let (gateway, port) = try await harness.start(port: apns, Self.store)
            let visitor = try await Visitor(harness.credentials, port: port)
            // The gateway has accepted it when it has served a later one.
            #expect(try await harness.push(1...1, to: port).status == 0)
            gateway.terminate()
            #expect(try await eventually { try gateway.messages.contains("ferry: stops as soon as") })
            #expect(try await visitor.shakeHands())
            #expect(try await gateway.output().status == 0)
        }
    }
}
