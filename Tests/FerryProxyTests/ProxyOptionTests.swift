import FerryProxy
import Testing

@Suite struct ProxyOptionTests {
    private static let environment = ProxyEnvironment(["HTTPS_PROXY": "http://user:sesame@b:2", "NO_PROXY": "inside"])

    private func proxy(
        _ text: String?,
        _ userName: String? = nil,
        _ password: String? = nil,
        for host: String = "api.push.apple.com"
    ) throws -> HTTPProxy? {
        try ProxyOption.proxy(
            text,
            userName: userName,
            password: password,
            for: host,
            environment: Self.environment
        )
    }

    @Test func `without the option the variables count for nothing`() throws {
        #expect(try self.proxy(nil) == nil)
    }

    @Test func `the word environment means the variables`() throws {
        #expect(try self.proxy("environment") == HTTPProxy(host: "b", port: 2, userName: "user", password: "sesame"))
        #expect(try self.proxy("environment", for: "inside") == nil)
    }

    @Test func `an address is taken as it is, for every host`() throws {
        #expect(try self.proxy("a:1", for: "inside") == HTTPProxy(host: "a", port: 1))
        let proxy = HTTPProxy(host: "::1", port: 1, userName: "me", password: "sesame")
        #expect(try self.proxy("[::1]:1", "me", "sesame") == proxy)
    }

    @Test(
        arguments: [
            (nil, "me", nil), (nil, nil, "sesame"), ("environment", "me", nil), ("a:1", nil, "sesame"), ("a", nil, nil),
            ("http://a:1", nil, nil), ("me:sesame@a:1", nil, nil), ("a:1", "me:you", nil), ("", nil, nil),
        ] as [(String?, String?, String?)]
    )
    func `options that do not fit together are one sentence`(text: String?, userName: String?, password: String?) {
        let fault = #expect(throws: ProxyAddressFault.self) { try self.proxy(text, userName, password) }
        #expect(fault?.description.contains("sesame") == false)
    }
}
