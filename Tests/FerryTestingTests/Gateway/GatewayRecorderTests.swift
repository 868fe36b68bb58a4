internal import FerryCore
internal import FerryTesting
internal import Foundation
internal import NIOCore
internal import Testing

struct GatewayRecorderTests {
    /// Sends a stream to a machine with this recorder.
    static func record(_ stream: [UInt8], _ recorder: any GatewayRecorder) {
        var machine = SimulatedGatewayMachine(rules: GatewayRules(GatewayScript()), connection: 4, recorder: recorder)
        _ = machine.received(ByteBuffer(bytes: stream), at: .zero)
    }

    @Test func `a record is one JSON object a line, with the payload as it came`() throws {
        try withTemporaryDirectory { directory in
            let path = "\(directory)/record.jsonl"
            let recorder = try GatewayFileRecorder(path: path)
            Self.record(
                frame(7, token: [0, 255], payload: #"{ "a" : "é" }"#)
                    + [0, 0, 1, 0xaa, 0, 2, 0x7b, 0x7d]
                    + frame(8, token: [1], payload: "{\n}")
                    + [1, 255, 255, 255, 255, 0, 0, 0, 9, 0, 1, 0xbb, 0, 1, 0x0a],
                recorder
            )
            #expect(try fileSize(path) == 0)
            recorder.flush()
            let written = try String(contentsOfFile: path, encoding: .utf8)
            #expect(
                written == """
                    {"connection":4,"place":1,"command":2,"identifier":7,"token":"00ff",\
                    "payload":{ "a" : "é" },"expiration":null,"priority":null}
                    {"connection":4,"place":2,"command":0,"identifier":null,"token":"aa",\
                    "payload":{},"expiration":null,"priority":null}
                    {"connection":4,"place":3,"command":2,"identifier":8,"token":"01",\
                    "payloadHex":"7b0a7d","expiration":null,"priority":null}
                    {"connection":4,"place":4,"command":1,"identifier":4294967295,"token":"bb",\
                    "payloadHex":"0a","expiration":9,"priority":null}

                    """
            )
            #expect(recorder.failure == nil)
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `a record is written while the gateway is running`() async throws {
        let directory = temporaryPath()
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let path = "\(directory)/record.jsonl"
        let recorder = try GatewayFileRecorder(path: path)
        try await withGateway(configure: { $0.recorder = recorder }) { fixture in
            let client = try await fixture.connect()
            client.send(frames(1...2))
            while try fileSize(path) == 0 {
                try Task.checkCancellation()
                await Task.yield()
            }
            client.finish()
            _ = try await client.end()
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").count == 2)
    }

    @Test func `a recorder says why its file cannot be written`() throws {
        #expect(throws: FileError.self) {
            try GatewayFileRecorder(path: "/nonexistent/record.jsonl")
        }
        let full = try GatewayFileRecorder(path: "/dev/full")
        Self.record(frames(1...1), full)
        full.flush()
        let failure = try #require(full.failure)
        #expect(failure.description == "/dev/full: No space left on device")
    }

    @Test func `a recorder in memory counts by device and finds duplicates`() {
        let recorder = GatewayMemoryRecorder()
        Self.record(frames(1...3) + frames(2...2), recorder)
        #expect(recorder.notifications.count == 4)
        #expect(recorder.counts == [device(1): 1, device(2): 2, device(3): 1])
        #expect(recorder.duplicates == [device(2): 2])
        recorder.removeAll()
        #expect(recorder.counts.isEmpty)
    }
}
