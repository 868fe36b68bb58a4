import Ferry
import FerryTesting
import Foundation
import Synchronization
import Testing

/// A running gateway among strangers.
@Suite(.timeLimit(.minutes(10))) struct GatewayStrangersTests {
    /// Sockets that say nothing. One that is closed is replaced at once, so that the ports stay full.
    private final class Crowd: Sendable {
        /// The writing end of a pipe. The crowd ends with it.
        private let life: Mutex<Int32?>

        init(_ count: Int, at ports: [Int]) {
            var ends: [Int32] = [-1, -1]
            #expect(pipe(&ends) == 0)
            self.life = Mutex(ends[1])
            let end = ends[0]
            let thread = Thread {
                var sockets: [Int32] = []
                while true {
                    while sockets.count < count {
                        let socket = Self.connect(to: ports[sockets.count % ports.count])
                        guard socket >= 0 else { break }
                        sockets.append(socket)
                    }
                    var news = ([end] + sockets).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
                    poll(&news, nfds_t(news.count), -1)
                    guard news[0].revents == 0 else { break }
                    let closed = news.dropFirst().filter { $0.revents != 0 && Self.isClosed($0.fd) }.map(\.fd)
                    for socket in closed { close(socket) }
                    sockets.removeAll { closed.contains($0) }
                }
                for socket in sockets + [end] { close(socket) }
            }
            thread.start()
        }

        func end() {
            self.life.withLock { life in
                if let descriptor = life { close(descriptor) }
                life = nil
            }
        }

        private static func isClosed(_ socket: Int32) -> Bool {
            var byte: UInt8 = 0
            let count = recv(socket, &byte, 1, Int32(MSG_DONTWAIT))
            return count == 0 || count < 0 && errno != EAGAIN
        }

        private static func connect(to port: Int) -> Int32 {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
            guard descriptor >= 0 else { return -1 }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = in_port_t(port).bigEndian
            address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    _ = Foundation.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            return descriptor
        }
    }

    @Test func `strangers on both ports leave descriptors for the upstream, the store and the list`() async throws {
        try await GatewayHarness.run { harness in
            // A port at which nothing listens yet.
            let free = try await SimulatedAPNs.start(.init(credentials: harness.credentials))
            let apnsPort = free.port
            await free.stop()
            let (gateway, port) = try await harness.start(
                port: apnsPort,
                [
                    "listen": #"{"port": 0, "feedbackPort": 0, "cert": "server.pem", "key": "server-key.pem"}"#,
                    "store": #"{"path": "gateway.db"}"#, "rejections": #""list""#,
                ],
                shell: #"ulimit -n 256; exec "$@""#
            )
            let ports = try JSONSerialization.jsonObject(with: Data(gateway.result.utf8)) as? [String: Int]
            let feedback = try #require(ports?["feedback"])
            _ = try await harness.push(1...5, to: port)
            let crowd = Crowd(270, at: [port, port, feedback])
            defer { crowd.end() }
            // Until the gateway can have no more.
            let directory = "/proc/\(gateway.processIdentifier)/fd"
            #expect(
                try await eventually { try FileManager.default.contentsOfDirectory(atPath: directory).count > 150 }
            )
            var configuration = SimulatedAPNs.Configuration(credentials: harness.credentials)
            configuration.port = apnsPort
            configuration.script.rules = [HTTP2Rule(prefix: [0], status: 410)]
            let apns = try await SimulatedAPNs.start(configuration)
            #expect(try await eventually { apns.counts.rejected == 5 })
            #expect(try await eventually { try harness.directory.read("list").count { $0 == "\n" } == 5 })
            #expect(try !gateway.messages.contains("Too many open files"))
            // Both ports are full, and stay so.
            let output = try await harness.push(6...10, to: port)
            #expect(output.status == 0, "\(output.messages)")
            #expect(try await eventually { apns.counts.rejected == 10 })
            let rows = try await harness.readFeedback(of: feedback)
            #expect(rows.status == 0 && rows.result.count { $0 == "\n" } == 10, "\(rows)")
            #expect(try gateway.messages.contains("others wanted its place."))
            crowd.end()
            await gateway.killAndWait()
            await apns.stop()
        }
    }

    @Test func `a start with too few descriptors says how many are needed`() async throws {
        try await GatewayHarness.run { harness in
            let output = try await FerryProgram.run(
                ["gateway", "--config", harness.configuration()],
                in: harness.directory,
                shell: #"ulimit -n 100; exec "$@""#
            )
            #expect(output.status == 2)
            #expect(
                output.messages.contains("Only 100 files and sockets may be open at a time (ulimit -n)"),
                "\(output.messages)"
            )
        }
    }

    @Test(
        arguments: [
            (#"{"port": 0, "port": 1, "cert": "server.pem", "key": "server-key.pem"}"#, "listen.port"),
            (#"{"port": 0, "cert": "a", "k\u0065y": "b", "key": "server-key.pem"}"#, "listen.key"),
        ]
    )
    func `a member that stands twice is named`(listen: String, member: String) async throws {
        try await GatewayHarness.run { harness in
            let output = try await harness.check(["listen": listen])
            #expect(output.status == 2)
            #expect(output.messages == "ferry: The option '\(member)' stands there twice.\n")
        }
    }

    @Test func `a member that stands twice in a list of objects is named with its place`() async throws {
        try await GatewayHarness.run { harness in
            let clients = """
                [{"name": "a", "anyone": true, "topics": ["b"]}, {"name": "b", "topics": ["b"], "topics": ["c"]}]
                """
            let output = try await harness.check(["clients": clients])
            #expect(output.status == 2)
            #expect(
                output.messages.hasSuffix("The option 'clients[1].topics' stands there twice.\n"),
                "\(output.messages)"
            )
        }
    }

    @Test(
        arguments: [
            (["-tls1_3"], "it must allow TLS 1.2, 1.1 or 1.0: 'legacyTLS' is on already."),
            (
                ["-tls1_2", "-cipher", "DHE-RSA-AES128-SHA"],
                "the peer must allow one with RSA or ECDHE: 'legacyTLS' is on already."
            ),
        ]
    )
    func `a client that no profile serves is not told to use legacyTLS when that is on`(
        options: [String],
        words: String
    ) async throws {
        try await GatewayHarness.run { harness in
            let (gateway, port) = try await harness.start([
                "listen": #"{"port": 0, "cert": "server.pem", "key": "server-key.pem", "legacyTLS": true}"#
            ])
            let client = Process()
            client.executableURL = URL(filePath: "/usr/bin/env")
            client.arguments = ["openssl", "s_client", "-connect", "127.0.0.1:\(port)"] + options
            client.standardInput = FileHandle.nullDevice
            client.standardOutput = FileHandle.nullDevice
            client.standardError = FileHandle.nullDevice
            try client.run()
            client.waitUntilExit()
            #expect(try await eventually { try gateway.messages.contains("was refused: ") })
            #expect(try gateway.messages.contains(words))
            await gateway.killAndWait()
        }
    }

    @Test func `ferry doctor is named as what it says it is, and a monitor's check as that, both once`() async throws {
        try await GatewayHarness.run { harness in
            let (gateway, port) = try await harness.start()
            for _ in 0..<2 {
                _ = try await FerryProgram.run(
                    ["doctor", "127.0.0.1:\(port)", "--ca", harness.directory.path("ca.pem")],
                    in: harness.directory
                )
            }
            let doctor = "ferry: 127.0.0.1 is ferry doctor, which tries this gateway."
            #expect(try await eventually { try gateway.messages.contains(doctor) })
            let messages = try gateway.messages
            #expect(messages.components(separatedBy: doctor).count == 2, "\(messages)")
            #expect(!messages.contains("was refused"), "\(messages)")
            let monitor = "ferry: 127.0.0.1 connected and ended without a byte, as monitors and load balancers do."
            for _ in 0..<3 {
                let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
                var address = sockaddr_in()
                address.sin_family = sa_family_t(AF_INET)
                address.sin_port = in_port_t(port).bigEndian
                address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
                withUnsafePointer(to: &address) {
                    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        _ = connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                    }
                }
                close(socket)
            }
            #expect(try await eventually { try gateway.messages.contains(monitor) })
            #expect(try gateway.messages.components(separatedBy: monitor).count == 2)
            await gateway.killAndWait()
        }
    }
}
