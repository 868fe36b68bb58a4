import CFerry
import FerryTesting
import Foundation
import Synchronization
import Testing

@Suite struct FeedbackTests {
    /// A feedback list, as a program in C has it.
    private final class List {
        let handle: ferry_t

        init(_ options: String) throws {
            _ = Library.keepsSIGPIPEIgnored
            var message = [CChar](repeating: 1, count: 512)
            let opened = ferry_feedback_open(options, options.utf8.count, &message, message.count)
            guard opened > 0 else { throw Library.Refusal(code: opened, message: Library.text(message)) }
            self.handle = ferry_t(opened)
        }

        deinit { ferry_free(self.handle) }

        /// The bytes of one call, and what it returned.
        func read(_ size: Int = 4096, milliseconds: Int64 = 60_000) -> (bytes: [UInt8], returned: Int64) {
            var bytes = [UInt8](repeating: 0, count: size)
            let length = ferry_feedback_read(self.handle, &bytes, size, milliseconds)
            return (Array(bytes.prefix(Int(max(length, 0)))), length)
        }

        /// All tokens, and what the last call returned.
        func tokens() -> (tokens: [[UInt8]], returned: Int64) {
            var tokens: [[UInt8]] = []
            while true {
                let (bytes, returned) = self.read()
                guard returned > 0 else { return (tokens, returned) }
                var rest = bytes[...]
                while rest.count >= 6 {
                    let length = Int(rest[rest.startIndex + 4]) << 8 | Int(rest[rest.startIndex + 5])
                    tokens.append(Array(rest.dropFirst(6).prefix(length)))
                    rest = rest.dropFirst(6 + length)
                }
            }
        }
    }

    /// Those who append and those who take at the same time.
    private final class Race: Sendable {
        let found = Mutex<Set<[UInt8]>>([])
        let writers = Atomic(4)
    }

    private func gone(_ number: UInt8, _ more: UInt8 = 0) -> [UInt8] { [0x90, 0x9e, more, number] }

    @Test func `devices that are gone are appended to a file that only its owner can read, and taken from there`()
        throws
    {
        let folder = try TemporaryFolder()
        let library = try Library(#"{"backend":"echo","feedback":"\#(folder.path("gone"))"}"#)
        _ = library.submit((0..<5).flatMap { record(UInt64($0), token: self.gone($0)) } + record(9))
        #expect(library.read().count == 6)
        let mode = try FileManager.default.attributesOfItem(atPath: folder.path("gone"))[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let list = try List(
            #"{"backend":"auto","host":"feedback.push.apple.com","feedback":"\#(folder.path("gone"))"}"#
        )
        let (tokens, returned) = list.tokens()
        #expect(tokens == (0..<5).map { self.gone($0) })
        #expect(returned == 0)
        #expect(folder.names.isEmpty)
    }

    @Test func `a tuple has the time, the length and the token, big endian`() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("{\"token\":\"00fc01\",\"timestamp\":1700000000}\n", to: "gone")
        let list = try List(#"{"feedback":"\#(file)"}"#)
        #expect(list.read().bytes == [0x65, 0x53, 0xf1, 0x00, 0, 3, 0, 0xfc, 1])
    }

    @Test func `a list is removed only after its last tuple was read, and another reader finds it whole before`() throws
    {
        let folder = try TemporaryFolder()
        let lines = (10..<14).map { "{\"token\":\"\($0)\",\"timestamp\":\($0)}\n" }.joined()
        let options = #"{"feedback":"\#(try folder.write(lines, to: "gone"))"}"#
        do {
            let interrupted = try List(options)
            #expect(interrupted.read().bytes.count == 4 * 7)
            // It is locked while its reader lives.
            #expect(try List(options).tokens().tokens.isEmpty)
        }
        #expect(try List(options).tokens().tokens == [[0x10], [0x11], [0x12], [0x13]])
        #expect(folder.names.isEmpty)
    }

    @Test func `a line that a full disk cut spoils no other, and is counted`() throws {
        let folder = try TemporaryFolder()
        let text = """
            {"token":"01","timestamp":1}
            {"token":"02","time{"token":"03","timestamp":3}
            nonsense
            {"token":"04","timestamp":4}
            """
        let list = try List(#"{"feedback":"\#(try folder.write(text, to: "gone"))"}"#)
        #expect(list.tokens().tokens == [[1], [3], [4]])
        var json = [CChar](repeating: 0, count: 100)
        _ = ferry_report(list.handle, &json, 99)
        #expect(Library.text(json) == #"{"tuples":3,"skipped":1}"#)
    }

    @Test func `each device is read, even if several processes append and take at the same time`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("gone")
        let race = Race()
        await withTaskGroup(of: Void.self) { group in
            for writer in UInt8(0)..<4 {
                group.addTask {
                    defer { race.writers.subtract(1, ordering: .sequentiallyConsistent) }
                    guard let library = try? Library(#"{"backend":"echo","feedback":"\#(path)"}"#) else { return }
                    for number in UInt8(0)..<200 { _ = library.submit(record(1, token: [0x90, 0x9e, writer, number])) }
                }
            }
            for _ in 0..<8 {
                group.addTask {
                    while race.writers.load(ordering: .sequentiallyConsistent) > 0 {
                        guard let list = try? List(#"{"feedback":"\#(path)"}"#) else { return }
                        let tokens = list.tokens().tokens
                        race.found.withLock { $0.formUnion(tokens) }
                    }
                }
            }
        }
        let rest = try List(#"{"feedback":"\#(path)"}"#).tokens().tokens
        race.found.withLock { $0.formUnion(rest) }
        #expect(race.found.withLock { $0.count } == 800)
        #expect(folder.names.isEmpty)
    }

    @Test func `the list of a service is read over TLS, after the file`() async throws {
        let folder = try TemporaryFolder()
        let tls = try TLSDirectory.open(folder.path("tls"))
        var server = SimulatedFeedback.Configuration(credentials: tls)
        server.script.tuples = [.init(time: Date(timeIntervalSince1970: 1_700_000_000), token: [1, 2, 3])]
        let service = try await SimulatedFeedback.start(server)
        let file = try folder.write("{\"token\":\"0a\",\"timestamp\":1}\n", to: "gone")
        let options = """
            {"backend":"binary","host":"\(service.host)","port":1,"feedbackHost":"\(service.host)",\
            "feedbackPort":\(service.port),"serverName":"localhost","ca":"\(folder.path("tls/ca.pem"))",\
            "cert":"\(folder.path("tls/client.pem"))","key":"\(folder.path("tls/client-key.pem"))","feedback":"\(file)"}
            """
        let list = try List(options)
        let (tokens, returned) = list.tokens()
        #expect(tokens == [[0x0a], [1, 2, 3]] && returned == 0)
        // In the file of `config`, host and port are those of the gateway.
        let config = try folder.write(
            options.replacing(#""feedbackHost":"\#(service.host)","#, with: ""),
            to: "ferry.json"
        )
        let named = #"{"backend":"auto","host":"feedback.push.apple.com","port":2196,"config":"\#(config)"}"#
        let again = try List(named).tokens()
        #expect(again.tokens.isEmpty && again.returned == 0)
        await service.stop()
        // The devices of the file are told once, whatever becomes of the service.
        try folder.write("{\"token\":\"0b\",\"timestamp\":1}\n", to: "gone")
        for expected: [[UInt8]] in [[[0x0b]], []] {
            let (tokens, returned) = try List(options).tokens()
            #expect(tokens == expected && returned == Int64(FERRY_EPEER))
        }
        #expect(folder.names.allSatisfy { !$0.hasPrefix("gone") })
    }

    @Test(arguments: [
        (#"{"backend":"auto","host":"feedback.push.apple.com"}"#, "Apple switched its feedback service off."),
        (#"{"backend":"http2","production":true}"#, "Apple switched its feedback service off."),
        (#"{"feedback":"/nowhere/x","shares":1}"#, "There is no option 'shares' here."),
        (#"{"feedbackHost":"a","feedbackPort":0}"#, "The option 'feedbackPort' takes a whole number"),
    ])
    func `opening without a list fails with one sentence`(options: String, sentence: String) {
        #expect { try List(options) } throws: { ($0 as? Library.Refusal)?.message.contains(sentence) == true }
    }

    @Test func `a path that is not a regular file is refused, and its file stays where it is`() throws {
        let folder = try TemporaryFolder()
        for path in [folder.url.path(), "/dev/null"] {
            #expect(throws: Library.Refusal.self) { try List(#"{"feedback":"\#(path)"}"#) }
            #expect(
                Library.refusal(#"{"backend":"echo","feedback":"\#(path)"}"#)?.message.contains("is no regular file")
                    == true
            )
        }
        #expect(folder.names.isEmpty)
    }

    @Test func `a link is followed, and its file is taken`() throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createSymbolicLink(
            atPath: folder.path("link"),
            withDestinationPath: folder.path("gone")
        )
        try folder.write("{\"token\":\"01\",\"timestamp\":1}\n", to: "gone")
        #expect(try List(#"{"feedback":"\#(folder.path("link"))"}"#).tokens().tokens == [[1]])
        #expect(folder.names == ["link"])
    }

    @Test func `two threads that read a list both wake at its end`() throws {
        let folder = try TemporaryFolder()
        let list = try List(#"{"feedback":"\#(folder.path("gone"))"}"#)
        let handle = list.handle
        let thread = Thread {
            var bytes = [UInt8](repeating: 0, count: 200)
            _ = ferry_feedback_read(handle, &bytes, bytes.count, -1)
        }
        thread.start()
        #expect(list.read(milliseconds: -1).returned == 0)
    }

    @Test func `a handle of a list is not a handle of a provider, nor the other way round`() throws {
        let folder = try TemporaryFolder()
        let list = try List(#"{"feedback":"\#(folder.path("gone"))"}"#)
        let library = try Library(#"{"backend":"echo"}"#)
        var bytes = [UInt8](repeating: 0, count: 200)
        #expect(ferry_submit(list.handle, &bytes, 0, nil) == Int64(FERRY_EHANDLE))
        #expect(ferry_wait(list.handle, 0) == Int64(FERRY_EHANDLE))
        #expect(ferry_feedback_read(library.handle, &bytes, bytes.count, 0) == Int64(FERRY_EHANDLE))
        #expect(ferry_feedback_read(list.handle, &bytes, 105, 0) == Int64(FERRY_EINVAL))
        #expect(ferry_feedback_read(list.handle, nil, 106, 0) == Int64(FERRY_EINVAL))
    }
}
