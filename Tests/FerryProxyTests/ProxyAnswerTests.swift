import FerryProxy
import NIOCore
import Testing

@Suite struct ProxyAnswerTests {
    /// The results for `text`: whole, byte by byte, and cut at every position.
    private func results(_ text: String) -> [ProxyAnswer.Result] {
        let bytes = Array(text.utf8)
        var cuts = (0...bytes.count).map { [bytes[..<$0], bytes[$0...]] }
        cuts.append([bytes[...]])
        cuts.append(bytes.indices.map { bytes[$0...$0] })
        return cuts.map(self.result)
    }

    private func result(_ parts: [ArraySlice<UInt8>]) -> ProxyAnswer.Result {
        var answer = ProxyAnswer()
        for (index, part) in parts.enumerated() {
            let result = answer.append(ByteBuffer(bytes: part))
            guard case .needMore = result else {
                guard case .established(var tunnel) = result else { return result }
                for part in parts[(index + 1)...] { tunnel.writeBytes(part) }
                return .established(tunnel)
            }
        }
        return .needMore
    }

    @Test(arguments: [
        "HTTP/1.1 200 Connection established\r\n\r\n", "HTTP/1.0 200 OK\r\nVia: x\r\n\r\n", "HTTP/1.1 204\r\n\r\n",
        "HTTP/1.1 200 \nA: b\n\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    ])
    func `a status of 2xx makes the tunnel, and what follows is its own`(head: String) {
        for result in self.results(head) { #expect(result == .established(ByteBuffer())) }
        for result in self.results(head + "tunnel\r\n\r\n") {
            #expect(result == .established(ByteBuffer(string: "tunnel\r\n\r\n")))
        }
    }

    @Test(arguments: [
        ("HTTP/1.1 407 Proxy Authentication Required\r\n", 407), ("HTTP/1.0 503 \r\n\r\nbody", 503),
        ("HTTP/1.1 302\n", 302), ("HTTP/1.1 101 Switching\r\n\r\n", 101), ("HTTP/1.1 999 ?", 999),
    ])
    func `any other status is a refusal, and nothing more is waited for`(head: String, status: Int) {
        for result in self.results(head) { #expect(result == .refused(status: status)) }
    }

    @Test(arguments: [
        "SSH-2.0-OpenSSH_9.2\r\n", "\u{15}\u{3}\u{1}", "HTTP/2 200 OK\r\n", "HTTP/1.1 20x OK", "HTTP/1.1 2000 OK",
        "http/1.1 200 OK\r\n\r\n", "HTTP/1.1  200 OK", "HTTP/1.1 000 OK", "\r\n",
    ])
    func `what is no status line is known by its first byte that is wrong`(text: String) {
        for result in self.results(text) { #expect(result == .notHTTP) }
    }

    @Test(arguments: [
        "", "H", "HTTP/1.1 200", "HTTP/1.1 200 OK", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nA: b\r\n\r",
    ])
    func `what is not all there is waited for`(text: String) {
        for result in self.results(text) { #expect(result == .needMore) }
    }

    @Test func `a head that does not end is too long`() {
        let line = "A: " + String(repeating: "b", count: 997) + "\r\n"
        var answer = ProxyAnswer()
        var results = [answer.append(ByteBuffer(string: "HTTP/1.1 200 OK\r\n"))]
        for _ in 0..<20 where results.last == .needMore { results.append(answer.append(ByteBuffer(string: line))) }
        #expect(results.last == .tooLong)
        #expect(results.count == ProxyAnswer.headLimit / line.utf8.count + 2)

        var interim = ProxyAnswer()
        let heads = String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 1000)
        #expect(interim.append(ByteBuffer(string: heads)) == .tooLong)
    }
}
