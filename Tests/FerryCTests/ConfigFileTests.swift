import CFerry
import FerryTesting
import Foundation
import Testing

/// The options `config` and `auto`: what a program says, and the file that wins over it.
@Suite struct ConfigFileTests {
    /// Opens with the options of a program, and a file over them. Returns the error, or nil.
    private func refusal(_ options: String, _ file: String) throws -> String? {
        let folder = try TemporaryFolder()
        let config = try folder.write(file, to: "ferry.json")
        return Library.refusal(options.dropLast() + #","config":"\#(config)"}"#)?.message
    }

    private let old =
        #"{"backend":"auto","host":"gateway.push.apple.com","port":2195,"cacheLength":5,"cert":"/nowhere"}"#

    @Test func `Apple's binary host means HTTP/2, and options of the binary protocol alone are left out`() {
        #expect(Library.refusal(self.old)?.message.contains("does not exist") == true)
    }

    @Test(arguments: [
        (#"{"backend":"echo"}"#, nil),
        (#"{"backend":"binary"}"#, "The binary protocol needs the option 'host'"),
        (#"{"backend":"http2","p8":"/nowhere"}"#, "The option 'p8' needs 'keyId' and 'teamId'"),
        (#"{"host":"gateway.internal","p8":"/nowhere","keyId":"a"}"#, "The option 'p8' needs 'keyId' and 'teamId'"),
        (#"{"backend":"migrate"}"#, "The binary protocol needs the option 'host'"),
        (#"{"backend":"migrate","binary":{"host":"a","topic":1}}"#, "does not exist"),
        (#"{"backend":"auto"}"#, #"The backend "auto" needs the option 'host'"#),
        ("{", "ferry.json: The options are not one JSON object"),
        (#"{"backend":"echo","shar":1}"#, "ferry.json: There is no option 'shar' here; is shared meant?"),
        (#"{"backend":"echo","wait":1}"#, "ferry.json: The option 'wait' takes true or false."),
        (#"{"backend":"migrate","binary":{"host":1}}"#, "ferry.json: The option 'binary.host' takes a string."),
    ])
    func `keys of the file win over those of the program`(file: String, sentence: String?) throws {
        let message = try self.refusal(self.old, file)
        if let sentence {
            #expect(message?.contains(sentence) == true, "\(message ?? "")")
        } else {
            #expect(message == nil)
        }
    }

    @Test(arguments: [
        (#"{"backend":"http2"}"#, "The option 'p8' needs 'keyId' and 'teamId'"),
        (#"{"backend":"binary"}"#, "does not exist"),
        (#"{"backend":"http2","p8":"AuthKey.p8"}"#, "The option 'p8' needs 'keyId' and 'teamId'"),
        (#"{"backend":"binary","host":"gateway.internal"}"#, "does not exist"),
    ])
    func `a file ends a migration of the program, and its side keeps its options`(file: String, sentence: String) throws
    {
        let options = """
            {"backend":"migrate","share":10,"fallback":true,"binary":{"host":"gateway.internal","cert":"/nowhere"},\
            "http2":{"production":true,"p8":"/nowhere","topic":"com.example.app"}}
            """
        let message = try self.refusal(options, file)
        #expect(message?.contains(sentence) == true, "\(message ?? "")")
    }

    @Test func `the host may stand in the file alone`() throws {
        let options = #"{"backend":"auto","cert":"/nowhere"}"#
        #expect(try self.refusal(options, #"{"host":"gateway.internal"}"#)?.contains("does not exist") == true)
        #expect(try self.refusal(options, "{}")?.contains(#"The backend "auto" needs the option 'host'"#) == true)
    }

    @Test func `the program's own option outcomes wins over that of the file`() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(#"{"outcomes":"none"}"#, to: "ferry.json")
        let library = try Library(#"{"backend":"echo","outcomes":"all","config":"\#(path)"}"#)
        _ = library.submit(record(1))
        #expect(library.read().count == 1)
        let other = try Library(#"{"backend":"echo","config":"\#(path)"}"#)
        _ = other.submit(record(1))
        #expect(other.read().isEmpty)
    }

    @Test func `a fault of the program's own options names no file`() throws {
        let message = try self.refusal(#"{"backend":"echo","shar":1}"#, "{}")
        #expect(message == "There is no option 'shar' here; is shared meant?")
    }

    @Test func `a file that is missing is an error that names it`() {
        let refusal = Library.refusal(#"{"backend":"echo","config":"/nowhere/ferry.json"}"#)
        #expect(refusal?.message == "The file /nowhere/ferry.json cannot be read: No such file or directory.")
    }

    @Test func `a share moves while the program runs`() async throws {
        let folder = try TemporaryFolder()
        let tls = try TLSDirectory.open(folder.path("tls"))
        let apns = try await SimulatedAPNs.start(SimulatedAPNs.Configuration(credentials: tls))
        let gateway = try await SimulatedGateway.start(SimulatedGateway.Configuration(credentials: tls))
        func config(share: Int) -> String {
            """
            {"backend":"migrate","share":\(share),
             "binary":{"host":"\(gateway.host)","port":\(gateway.port),"serverName":"localhost","settleTime":0.05,
                       "ca":"\(folder.path("tls/ca.pem"))"},
             "http2":{"host":"\(apns.host)","port":\(apns.port),"serverName":"localhost","ca":"\(folder.path("tls/ca.pem"))",
                      "p8":"\(folder.path("tls/token-key.p8"))","keyId":"FERRYKEY01","teamId":"FERRYTEAM1",
                      "topic":"com.example.ferry"}}
            """
        }
        let path = try folder.write(config(share: 0), to: "ferry.json")
        let library = try Library(
            """
            {"backend":"auto","host":"gateway.push.apple.com","cert":"\(folder.path("tls/client.pem"))",\
            "key":"\(folder.path("tls/client-key.pem"))","config":"\(path)"}
            """
        )
        var tag: UInt64 = 0
        func send() {
            _ = library.submit(record(tag, token: Array(repeating: 7, count: 32)))
            tag += 1
            #expect(ferry_drain(library.handle, 60_000) == 0)
        }
        send()
        #expect(gateway.counts.accepted == 1)
        try folder.write(config(share: 100), to: "ferry.json")
        // Each call may look at the file, once a second.
        while apns.counts.accepted == 0, tag < 100_000 { send() }
        #expect(apns.counts.accepted == 1)
        #expect(library.read(1_000_000).allSatisfy { $0.outcome == UInt8(FERRY_ACCEPTED) })
        await apns.stop()
        await gateway.stop()
    }
}
