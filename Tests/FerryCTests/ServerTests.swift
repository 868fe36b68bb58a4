import CFerry
import FerryTesting
import Foundation
import Testing

/// What a program in C sees of a server, over real sockets.
@Suite(.timeLimit(.minutes(5))) struct ServerTests {
    /// Runs `body` with the options, without braces, for a simulated APNs that answers after `answerDelay`.
    private func withAPNs(
        answerDelay: Duration,
        _ body: (_ options: String) throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        var server = SimulatedAPNs.Configuration(credentials: try TLSDirectory.open(folder.path("tls")))
        server.script.answerDelay = answerDelay
        server.script.coldStart = false
        let apns = try await SimulatedAPNs.start(server)
        try body(
            """
            "backend":"http2","host":"\(apns.host)","port":\(apns.port),"serverName":"localhost",\
            "ca":"\(folder.path("tls/ca.pem"))","cert":"\(folder.path("tls/client.pem"))",\
            "key":"\(folder.path("tls/client-key.pem"))","topic":"com.example.ferry","attemptTimeout":1000,"deadline":2000
            """
        )
        await apns.stop()
    }

    @Test func `a flush returns when everything was written, and with wait at the outcome`() async throws {
        try await self.withAPNs(answerDelay: .seconds(3600)) { options in
            let written = try Library("{\(options)}")
            #expect(written.submit((0..<50).flatMap { record($0) }).count == 50)
            #expect(ferry_flush(written.handle, 60_000) == 0)
            #expect(written.numbers.unsettled == 50)
            let waiting = try Library(#"{\#(options),"wait":true}"#)
            #expect(waiting.submit(record(1)).count == 1)
            #expect(ferry_flush(waiting.handle, 50) == 1)
            #expect(ferry_close(waiting.handle, 0) == 0)
            #expect(ferry_flush(waiting.handle, 60_000) == 0)
        }
    }

    @Test func `a flush whose time passes keeps no descriptor`() async throws {
        let folder = try TemporaryFolder()
        let tls = try TLSDirectory.open(folder.path("tls"))
        let apns = try await SimulatedAPNs.start(.init(credentials: tls))
        let port = apns.port
        await apns.stop()
        let library = try Library(
            """
            {"backend":"http2","host":"127.0.0.1","port":\(port),"topic":"com.example.ferry",\
            "cert":"\(folder.path("tls/client.pem"))","key":"\(folder.path("tls/client-key.pem"))"}
            """
        )
        #expect(library.submit(record(1)).count == 1)
        #expect(ferry_flush(library.handle, 1) == 1)
        let before = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
        for _ in 0..<200 { #expect(ferry_flush(library.handle, 1) == 1) }
        let after = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
        // Other tests run beside this one.
        #expect(after < before + 150)
    }

    @Test func `a flush is let go when another thread frees the handle`() async throws {
        try await self.withAPNs(answerDelay: .seconds(3600)) { options in
            let waiting = try Library(#"{\#(options),"wait":true}"#)
            #expect(waiting.submit(record(1)).count == 1)
            let handle = waiting.handle
            let thread = Thread { ferry_free(handle) }
            thread.start()
            let answer = ferry_flush(handle, 60_000)
            #expect(answer == 0 || answer == Int64(FERRY_EHANDLE))
        }
    }

    @Test func `reading does not report room that the server has not made`() async throws {
        try await self.withAPNs(answerDelay: .seconds(3600)) { options in
            let library = try Library(#"{\#(options),"queueLimit":10}"#)
            // All that may be under way is, and ten wait.
            while library.submit((0..<2000).flatMap { record($0) }).count > 0 { _ = ferry_wait(library.handle, 200) }
            #expect(library.read().isEmpty)
            #expect(library.ready == 0)
            #expect(!library.isReadable)
        }
    }

    @Test func `single outcomes are reported at once, even while many notifications wait`() async throws {
        try await self.withAPNs(answerDelay: .milliseconds(20)) { options in
            let library = try Library("{\(options)}")
            var read = 0
            _ = library.submit((0..<5000).flatMap { record($0) })
            while read < 5000 {
                #expect(ferry_wait(library.handle, 60_000) > 0)
                read += library.read().count
            }
            #expect(library.numbers.confirmed == 5000)
        }
    }
}
