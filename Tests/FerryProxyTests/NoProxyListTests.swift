import FerryProxy
import Testing

/// The rule for NO_PROXY, as curl documents it.
@Suite struct NoProxyListTests {
    @Test(arguments: [
        ("example.com", "example.com", true),
        ("example.com", "www.example.com", true),
        ("example.com", "EXAMPLE.com", true),
        ("Example.COM", "www.example.com", true),
        ("example.com", "example.com.", true),
        ("example.com.", "example.com", true),
        (".example.com", "example.com", true),
        (".example.com", "www.example.com", true),
        ("example.com", "badexample.com", false),
        ("example.com", "example.com.org", false),
        ("www.example.com", "example.com", false),
        ("other.org,example.com", "www.example.com", true),
        (" other.org , example.com ", "www.example.com", true),
        ("other.org example.com", "www.example.com", true),
        ("localhost", "localhost", true),
        ("", "example.com", false),
        (",, .", "example.com", false),
        ("com", "example.com", true),
    ])
    func `a name stands for itself and for what is below it`(list: String, host: String, isMatch: Bool) {
        #expect(NoProxyList(list).contains(host) == isMatch)
    }

    @Test(arguments: [
        ("*", "example.com", true),
        (" * ", "17.0.0.1", true),
        ("*.example.com", "www.example.com", false),
        ("example.com,*", "other.org", false),
    ])
    func `a star counts as the whole list alone`(list: String, host: String, isMatch: Bool) {
        #expect(NoProxyList(list).contains(host) == isMatch)
    }

    @Test(arguments: [
        ("10.1.2.3", "10.1.2.3", true),
        ("10.1.2.3", "10.1.2.4", false),
        ("2.3", "10.1.2.3", false),
        ("10.0.0.0/8", "10.255.1.1", true),
        ("10.0.0.0/8", "11.0.0.1", false),
        ("192.168.4.0/22", "192.168.7.255", true),
        ("192.168.4.0/22", "192.168.8.0", false),
        ("192.168.0.1/32", "192.168.0.1", true),
        ("192.168.0.1/32", "192.168.0.2", false),
        ("0.0.0.0/0", "17.0.0.1", true),
        ("0.0.0.0/0", "::1", false),
        ("10.0.0.0/33", "10.0.0.0", false),
        ("10.0.0.0/x", "10.0.0.0", false),
        ("::1", "::1", true),
        ("::1", "0:0:0:0:0:0:0:1", true),
        ("2001:db8::/33", "2001:db8:7fff::1", true),
        ("2001:db8::/33", "2001:db8:8000::1", false),
        ("127.0.0.1", "localhost", false),
        ("10.0.0.0/8", "10.example.com", false),
    ])
    func `an address stands for itself or its network, and for no name`(list: String, host: String, isMatch: Bool) {
        #expect(NoProxyList(list).contains(host) == isMatch)
    }
}
