import NIOCore
import NIOHTTP1
import Testing

@testable import FerryHTTP1

@Suite struct HTTPExchangeTests {
    private func head(_ headers: HTTPHeaders = [:], method: HTTPMethod = .POST, uri: String = "/a?b=c")
        -> HTTPRequestHead
    {
        HTTPRequestHead(version: .http1_1, method: method, uri: uri, headers: headers)
    }

    @Test func `a request in parts is one request, and its answer leaves room for the next`() {
        var exchange = HTTPExchange(bodyLimit: 10)
        for _ in 0..<2 {
            #expect(exchange.received(self.head()) == .none)
            #expect(exchange.received(ByteBuffer(string: "01234")) == .none)
            #expect(exchange.received(ByteBuffer(string: "56789")) == .none)
            #expect(exchange.receivedEnd() == .handle)
            #expect(exchange.request?.body == Array("0123456789".utf8))
            #expect(exchange.request?.path == "/a")
            #expect(exchange.answered(200) == .answer(status: 200, closes: false))
        }
    }

    @Test(
        arguments: [
            ("http://example.com/a?b", "/a"), ("https://example.com", "/"), ("http://example.com?/a", "/"), ("*", "*"),
        ]
    )
    func `the path of a target with scheme and host is the part after them`(_ target: String, _ path: String) {
        var exchange = HTTPExchange(bodyLimit: 10)
        _ = exchange.received(self.head(uri: target))
        _ = exchange.receivedEnd()
        #expect(exchange.request?.path == path)
    }

    @Test func `a body that is announced or grows too large is refused, and later bytes are dropped`() {
        var announced = HTTPExchange(bodyLimit: 10)
        #expect(announced.received(self.head(["Content-Length": "11"])) == .answer(status: 413, closes: true))
        #expect(announced.received(ByteBuffer(string: "0")) == .none)
        #expect(announced.receivedEnd() == .none)
        #expect(announced.timedOut() == .close)
        var growing = HTTPExchange(bodyLimit: 10)
        #expect(growing.received(self.head(["Transfer-Encoding": "chunked"])) == .none)
        #expect(growing.received(ByteBuffer(string: "0123456789")) == .none)
        #expect(growing.received(ByteBuffer(string: "0")) == .answer(status: 413, closes: true))
        #expect(growing.receivedEnd() == .none)
    }

    @Test func `only kept bytes count as held, and not those of a refused body or an answered request`() {
        var exchange = HTTPExchange(bodyLimit: 10)
        _ = exchange.received(self.head())
        _ = exchange.received(ByteBuffer(string: "01234"))
        #expect(exchange.heldBytes == 5)
        _ = exchange.receivedEnd()
        #expect(exchange.heldBytes == 5)
        _ = exchange.answered(200)
        #expect(exchange.heldBytes == 0)
        _ = exchange.received(self.head())
        for _ in 0..<1000 { _ = exchange.received(ByteBuffer(string: "0123456789")) }
        #expect(exchange.heldBytes == 0)
    }

    @Test func `a slow body is refused, an idle connection is closed, and an answer has its time`() {
        var exchange = HTTPExchange(bodyLimit: 10)
        #expect(exchange.timedOut() == .close)
        _ = exchange.received(self.head())
        #expect(exchange.timedOut() == .answer(status: 408, closes: true))
        var answering = HTTPExchange(bodyLimit: 10)
        _ = answering.received(self.head())
        _ = answering.receivedEnd()
        #expect(answering.timedOut() == .none)
        #expect(answering.answered(503) == .answer(status: 503, closes: false))
    }

    @Test func `a client that waits for permission gets it, or gets the refusal at once`() {
        var small = HTTPExchange(bodyLimit: 10)
        #expect(small.received(self.head(["Expect": "100-continue", "Content-Length": "5"])) == .askForBody)
        var large = HTTPExchange(bodyLimit: 10)
        let refusal = large.received(self.head(["Expect": "100-continue", "Content-Length": "50"]))
        #expect(refusal == .answer(status: 413, closes: true))
    }

    @Test func `when the server stops, a waiting connection is closed, and a request gets its answer first`() {
        var waiting = HTTPExchange(bodyLimit: 10)
        #expect(waiting.end() == .close)
        var busy = HTTPExchange(bodyLimit: 10)
        _ = busy.received(self.head())
        #expect(busy.end() == .none)
        #expect(busy.receivedEnd() == .handle)
        #expect(busy.answered(200) == .answer(status: 200, closes: true))
        var leaving = HTTPExchange(bodyLimit: 10)
        _ = leaving.received(self.head(["Connection": "close"]))
        _ = leaving.receivedEnd()
        #expect(leaving.answered(200) == .answer(status: 200, closes: true))
    }
}
