import CFerry
import FerryProxyTestSupport
import FerryTesting
import Foundation
import Testing

/// The option `proxy` of a program in C.
@Suite(.timeLimit(.minutes(5))) struct ProxyTests {
    @Test(arguments: [
        (#""proxy":"a""#, "The option 'proxy' takes HOST:PORT, or \"environment\"."),
        (#""proxy":3128"#, "The option 'proxy' takes HOST:PORT."),
        (#""proxyUser":"me""#, "The options 'proxyUser' and 'proxyPasswordFile' need 'proxy'."),
        (#""proxy":"a:1","proxyPasswordFile":"/nowhere/password""#, "cannot be read"),
        (#""proxy":"environment","proxyUser":"me""#, "do not go with 'proxy'"),
    ])
    func `a wrong proxy is one sentence`(options: String, sentence: String) throws {
        let folder = try TemporaryFolder()
        _ = try TLSDirectory.open(folder.path("tls"))
        let refusal = try #require(
            Library.refusal(
                """
                {"backend":"http2","host":"a","cert":"\(folder.path("tls/client.pem"))",\
                "key":"\(folder.path("tls/client-key.pem"))",\(options)}
                """
            )
        )
        #expect(refusal.message.contains(sentence))
    }

    @Test func `notifications of a program go through a proxy with a password from a file`() async throws {
        let folder = try TemporaryFolder()
        let apns = try await SimulatedAPNs.start(.init(credentials: try TLSDirectory.open(folder.path("tls"))))
        try Data("open sesame\nsecond line\n".utf8).write(to: URL(filePath: folder.path("password")))
        // `Basic` and the Base64 form of `ferry:open sesame`.
        let behaviour = TestProxy.Behaviour.tunnel(authorization: "Basic ZmVycnk6b3BlbiBzZXNhbWU=")
        try await TestProxy.run(behaviour) { proxy in
            let library = try Library(
                """
                {"backend":"http2","host":"\(apns.host)","port":\(apns.port),"serverName":"localhost",\
                "ca":"\(folder.path("tls/ca.pem"))","cert":"\(folder.path("tls/client.pem"))",\
                "key":"\(folder.path("tls/client-key.pem"))","topic":"com.example.ferry","wait":true,\
                "proxy":"127.0.0.1:\(proxy.port)","proxyUser":"ferry","proxyPasswordFile":"\(folder.path("password"))"}
                """
            )
            #expect(library.submit(record(1)).count == 1)
            #expect(ferry_flush(library.handle, 60_000) == 0)
            #expect(proxy.requests.count == 1)
            #expect(ferry_close(library.handle, 0) == 0)
        }
        await apns.stop()
    }
}
