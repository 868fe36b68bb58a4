import FerryTerminal
import Testing

@Suite struct EndpointTests {
    @Test(
        arguments: [
            ("localhost:2195", "localhost", 2195), ("localhost", "localhost", nil), ("127.0.0.1:1", "127.0.0.1", 1),
            ("[::1]:2195", "::1", 2195), ("[fe80::1]", "fe80::1", nil),
        ] as [(String, String, Int?)]
    )
    func `a host, a port or both are read`(text: String, host: String, port: Int?) {
        let endpoint = Endpoint(argument: text)
        #expect(endpoint?.host == host)
        #expect(endpoint?.port == port)
    }

    @Test(arguments: ["", ":1", "a:", "a:0", "a:65536", "a:x", "::1", "[::1", "[::1]x", "[]:1"])
    func `what is no endpoint is none`(text: String) {
        #expect(Endpoint(argument: text) == nil)
    }
}
