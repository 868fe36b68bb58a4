internal import FerryPlatform
internal import FerryServer
internal import NIOCore
internal import Testing

@Suite struct TrustedProxiesTests {
    @Test(arguments: [
        ("10.0.0.1", "10.0.0.1", true),
        ("10.0.0.1", "10.0.0.2", false),
        ("10.0.0.1", "::ffff:10.0.0.1", true),
        ("10.0.0.0/8", "::ffff:10.200.0.1", true),
        ("::ffff:10.0.0.1", "10.0.0.1", true),
        ("::ffff:10.0.0.0/104", "10.200.0.1", true),
        ("::ffff:10.0.0.0/104", "11.0.0.1", false),
        ("::ffff:0:0/96", "::ffff:192.0.2.1", true),
        ("::ffff:0:0/96", "2001:db8::1", false),
        ("10.0.0.0/8", "11.0.0.1", false),
        ("10.0.0.0/9", "10.128.0.1", false),
        ("10.1.2.3/8", "10.9.9.9", true),
        ("0.0.0.0/0", "192.0.2.1", true),
        ("0.0.0.0/0", "2001:db8::1", false),
        ("2001:db8::/32", "2001:db8:ffff::1", true),
        ("2001:db8::/32", "2001:db9::1", false),
        ("::1", "::1", true),
    ])
    func `an address or a network has its addresses, of its version alone`(
        network: String,
        address: String,
        isTrusted: Bool
    ) throws {
        let proxies = try TrustedProxies([#require(IPNetwork(network))])
        #expect(try proxies.contains(SocketAddress(ipAddress: address, port: 1)) == isTrusted)
    }

    @Test(arguments: [
        "", "shop.example", "10.0.0", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/+8", "10.0.0.0/-1", "10.0.0.0/8/8", "[::1]",
        "::/129", "10.0.0.1\0",
    ])
    func `any other text is no network`(text: String) {
        #expect(IPNetwork(text) == nil)
    }

    @Test func `a socket in the file system is no proxy`() throws {
        let proxies = try TrustedProxies([#require(IPNetwork("0.0.0.0/0")), #require(IPNetwork("::/0"))])
        #expect(try !proxies.contains(SocketAddress(unixDomainSocketPath: "/tmp/ferry")))
    }
}
