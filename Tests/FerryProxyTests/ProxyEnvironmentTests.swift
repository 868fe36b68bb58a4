import Testing

@testable import FerryProxy

@Suite struct ProxyEnvironmentTests {
    private func proxy(_ variables: [String: String], for host: String = "api.push.apple.com") throws -> HTTPProxy? {
        try ProxyEnvironment(variables).proxy(for: host)?.proxy
    }

    @Test func `both cases are read, and lower case first`() throws {
        #expect(try self.proxy([:]) == nil)
        #expect(try self.proxy(["HTTPS_PROXY": "a:1"]) == HTTPProxy(host: "a", port: 1))
        #expect(try self.proxy(["https_proxy": "b:2", "HTTPS_PROXY": "a:1"]) == HTTPProxy(host: "b", port: 2))
        #expect(try self.proxy(["https_proxy": "", "HTTPS_PROXY": "a:1"]) == HTTPProxy(host: "a", port: 1))
        #expect(try self.proxy(["HTTP_PROXY": "a:1", "ALL_PROXY": "a:1"]) == nil)
        let found = try ProxyEnvironment(["HTTPS_PROXY": "a:1"]).proxy(for: "host")
        #expect(found?.sentence(for: "host") == "connections to host go through the proxy a:1, which HTTPS_PROXY names")
    }

    @Test func `a host of NO_PROXY has no proxy`() throws {
        for name in ["NO_PROXY", "no_proxy"] {
            #expect(try self.proxy(["HTTPS_PROXY": "a:1", name: "apple.com"]) == nil)
            #expect(try self.proxy(["HTTPS_PROXY": "a:1", name: "*"]) == nil)
            #expect(try self.proxy(["HTTPS_PROXY": "a:1", name: "example.com"]) != nil)
        }
        // The list of a host that needs no proxy is reason enough not to read the address.
        #expect(try self.proxy(["HTTPS_PROXY": "socks5://a:1", "NO_PROXY": "*"]) == nil)
    }

    @Test func `an address may have a scheme, a user name, a password and a path`() throws {
        let text = "http://ferry:open%20sesame%3A%25@proxy.example:3128/"
        let proxy = HTTPProxy(host: "proxy.example", port: 3128, userName: "ferry", password: "open sesame:%")
        #expect(try self.proxy(["HTTPS_PROXY": text]) == proxy)
        #expect(try self.proxy(["HTTPS_PROXY": "HTTP://[::1]:8080"]) == HTTPProxy(host: "::1", port: 8080))
        #expect(try self.proxy(["HTTPS_PROXY": "ferry@a:1"]) == HTTPProxy(host: "a", port: 1, userName: "ferry"))
    }

    @Test(arguments: [
        "https://a:1", "socks5://a:1", "a", "http://a", "a:0", "a:65536", "a:b", "::1:80", "user:sesame@a",
        "http://user%3Ax:sesame@a:1", "a b:1", "://a:1",
    ])
    func `another address is one sentence without what stands in it`(text: String) {
        let fault = #expect(throws: ProxyAddressFault.self) { try self.proxy(["HTTPS_PROXY": text]) }
        #expect(fault?.description.hasPrefix("HTTPS_PROXY") == true)
        #expect(fault?.description.contains("sesame") == false)
    }
}
