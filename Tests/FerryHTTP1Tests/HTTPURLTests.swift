import FerryHTTP1
import Testing

@Suite struct HTTPURLTests {
    @Test func `scheme, host, port, path and query are taken apart`() throws {
        let url = try HTTPURL("https://Api.Example:8443/a/b?c=d%20e")
        #expect(url.scheme == .https)
        #expect(url.host == "api.example")
        #expect(url.port == 8443)
        #expect(url.target == "/a/b?c=d%20e")
        #expect("\(url)" == "https://api.example:8443")
    }

    @Test func `a part that is left out has the default value of the scheme`() throws {
        #expect(try HTTPURL("http://example").port == 80)
        #expect(try HTTPURL("https://example").target == "/")
        #expect(try HTTPURL("HTTPS://example?x").target == "/?x")
    }

    @Test func `an address of IPv6 stands in brackets`() throws {
        let url = try HTTPURL("http://[::1]:8080/x")
        #expect(url.host == "::1")
        #expect(url.port == 8080)
        #expect("\(url)" == "http://[::1]:8080")
        #expect(try HTTPURL("https://[2001:DB8::1]").origin.hostField == "[2001:db8::1]")
    }

    @Test(
        arguments: [
            "", "example", "ftp://secret", "https://", "https:///x", "https://user:secret@host/", "https://secret@host",
            "https://host:0", "https://host:65536", "https://host:secret", "https://host:", "https://::1/",
            "https://[secret]/", "https://[::1", "https://[::1]secret", "https://[fe80::1%25eth0]/", "https://ho st/",
            "https://höst/", "https://host/a#secret", "https://host/a b", "https://host/\"", "https://host\r\nx: y",
            "https://[127.0.0.1]/",
        ]
    )
    func `a wrong text is refused, and the sentence quotes nothing of it`(_ text: String) {
        do throws(HTTPURL.Fault) {
            _ = try HTTPURL(text)
            Issue.record("it was taken")
        } catch {
            #expect(!error.description.contains("secret"))
            #expect(error.description.hasSuffix("."))
        }
    }

    @Test func `another path on the same origin keeps the other parts, and is encoded`() throws {
        let url = try HTTPURL("https://host:1/old?x").with(target: "/new?a=\(HTTPURL.encoded("b/c=ü&~"))")
        #expect(url.target == "/new?a=b%2Fc%3D%C3%BC%26~")
        #expect(url.port == 1)
        #expect(throws: HTTPURL.Fault.self) { try url.with(target: "x") }
        #expect(throws: HTTPURL.Fault.self) { try url.with(target: "/a b") }
    }
}
