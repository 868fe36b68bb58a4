import Ferry
import FerryTesting
import Foundation
import Testing

/// The list of rejections of a running gateway, and the trouble that its file may have.
@Suite(.timeLimit(.minutes(10))) struct GatewayListTests {
    /// Runs a gateway before an APNs that calls each device gone.
    private func with(
        _ body: (GatewayHarness, _ apns: Int, _ answered: () -> Int) async throws -> Void
    ) async throws {
        try await GatewayHarness.run { harness in
            var configuration = SimulatedAPNs.Configuration(credentials: harness.credentials)
            configuration.script.rules = [HTTP2Rule(prefix: [0], status: 410)]
            let apns = try await SimulatedAPNs.start(configuration)
            try await body(harness, apns.port) { apns.counts.rejected }
            await apns.stop()
        }
    }

    private func lines(_ harness: GatewayHarness, _ name: String = "list") throws -> [Substring] {
        guard FileManager.default.fileExists(atPath: harness.directory.path(name)) else { return [] }
        return try harness.directory.read(name).split(separator: "\n")
    }

    /// The tokens of the lines, each of which has to be whole.
    private func tokens(_ lines: [Substring]) throws -> [String] {
        try lines.map { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return try #require(object?["token"] as? String)
        }
    }

    @Test func `without a store, a full disk is an alarm, leaves no half line, and makes the exit status 1`()
        async throws
    {
        try await self.with { harness, apns, answered in
            // No file may have more than some kilobytes.
            let (gateway, port) = try await harness.start(
                port: apns,
                ["rejections": #""list""#],
                shell: #"trap '' XFSZ; ulimit -f 6; exec "$@""#
            )
            _ = try await harness.push(1...60, to: port)
            #expect(try await eventually { answered() == 60 })
            let alarm = "ferry: alarm: The list of rejections \(harness.directory.path("list")) cannot be written: "
            #expect(try await eventually { try gateway.messages.contains(alarm) })
            gateway.terminate()
            let output = try await gateway.output()
            #expect(output.status == 1)
            let list = try harness.directory.read("list")
            #expect(list.hasSuffix("}\n"))
            let tokens = try self.tokens(self.lines(harness))
            #expect(tokens == (1...tokens.count).map { PushHarness.token($0) })
            #expect(tokens.count < 60)
            #expect(output.messages.contains("ferry: \(60 - tokens.count) lines of the list of rejections are lost\n"))
        }
    }

    @Test func `a FIFO that nobody reads stops no delivery, and keeps its lines for its reader`() async throws {
        try await self.with { harness, apns, answered in
            let fifo = PushFilesTests.fifo(harness.directory)
            let (gateway, port) = try await harness.start(port: apns, ["rejections": #""fifo""#])
            _ = try await harness.push(1...5, to: port)
            #expect(try await eventually { answered() == 5 })
            #expect(try await eventually { try gateway.messages.contains("cannot be written: nobody reads it.") })
            let reader = open(fifo, O_RDONLY | O_NONBLOCK)
            defer { close(reader) }
            var text = ""
            #expect(
                try await eventually {
                    var bytes = [UInt8](repeating: 0, count: 4096)
                    let count = read(reader, &bytes, bytes.count)
                    text += String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
                    return text.count { $0 == "\n" } == 5
                }
            )
            #expect(try self.tokens(text.split(separator: "\n")) == (1...5).map { PushHarness.token($0) })
            #expect(
                try await eventually { try gateway.messages.contains("the alarm for the list of rejections is over") }
            )
            gateway.terminate()
            #expect(try await gateway.output().status == 0)
        }
    }

    @Test func `a list that is renamed while the gateway runs is made anew`() async throws {
        try await self.with { harness, apns, _ in
            let (gateway, port) = try await harness.start(
                port: apns,
                ["rejections": #""list""#, "store": #"{"path": "gateway.db"}"#]
            )
            _ = try await harness.push(1...3, to: port)
            #expect(try await eventually { try self.lines(harness).count == 3 })
            try FileManager.default.moveItem(
                atPath: harness.directory.path("list"),
                toPath: harness.directory.path("list.1")
            )
            _ = try await harness.push(4...6, to: port)
            #expect(try await eventually { try self.lines(harness).count == 3 })
            #expect(try self.tokens(self.lines(harness, "list.1")) == (1...3).map { PushHarness.token($0) })
            #expect(try self.tokens(self.lines(harness)) == (4...6).map { PushHarness.token($0) })
            gateway.terminate()
            #expect(try await gateway.output().status == 0)
        }
    }

    /// How often the gateway is killed; `FERRY_KILLS=20` is the whole test.
    private static let kills = ProcessInfo.processInfo.environment["FERRY_KILLS"].flatMap(Int.init) ?? 2

    /// With the variable and as root, the list is in a file system of its own, which is full in every second run.
    @Test func `after each kill -9, also with a full disk, each rejection stands in the list once`() async throws {
        try await self.with { harness, apns, answered in
            let directory = harness.directory.path("small")
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            let isMounted = Self.kills > 2 && Self.run("mount", "-t", "tmpfs", "-o", "size=1m", "none", directory)
            defer { if isMounted { _ = Self.run("umount", directory) } }
            let members = ["rejections": #""small/list""#, "store": #"{"path": "gateway.db"}"#]
            let each = 40
            for round in 0..<Self.kills {
                let (gateway, port) = try await harness.start(port: apns, members)
                let ballast = "\(directory)/ballast"
                if isMounted, round.isMultiple(of: 2) {
                    // What is left is the rest of the list's last page.
                    _ = Self.run("sh", "-c", "head -c 2m /dev/zero > '\(ballast)' 2>/dev/null; true")
                }
                _ = try await harness.push(round * each + 1...(round + 1) * each, to: port)
                #expect(try await eventually { answered() >= (round + 1) * each })
                if !isMounted || !round.isMultiple(of: 2) {
                    // The kill comes at the beginning, in the middle and at the end of the writing.
                    let lines = round * each + round % 5 * each / 4
                    #expect(try await eventually { try self.lines(harness, "small/list").count >= lines })
                }
                await gateway.killAndWait()
                try? FileManager.default.removeItem(atPath: ballast)
            }
            let (gateway, _) = try await harness.start(port: apns, members)
            let all = { try self.tokens(self.lines(harness, "small/list")) }
            let wanted = (1...Self.kills * each).map { PushHarness.token($0) }
            #expect(try await eventually { try Set(all()).isSuperset(of: wanted) })
            gateway.terminate()
            #expect(try await gateway.output().status == 0)
            #expect(try all().sorted() == wanted)
        }
    }

    private static func run(_ arguments: String...) -> Bool {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = arguments
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}
