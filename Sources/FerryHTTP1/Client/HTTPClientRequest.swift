package import NIOHTTP1

/// A request of HTTP/1.1.
package struct HTTPClientRequest: Sendable {
    package var method: HTTPMethod
    package var url: HTTPURL
    /// The headers without `Host` and `Content-Length`, which the client sets. The client adds a `User-Agent` if
    /// the headers lack it.
    package var headers: HTTPHeaders
    package var body: [UInt8]
    /// The largest body of the answer, in bytes; ``needsBody`` decides about a longer body. Nil: the client reads the
    /// body to its end and drops it.
    package var bodyLimit: Int? = 1 << 20
    /// Whether a body that is too long or cut is an error. If not, the client drops the body, returns the rest of the
    /// answer, and closes the connection.
    package var needsBody = true
    /// Whether the request does no harm if the server gets it twice.
    ///
    /// The server may have closed an idle connection. The client may see the close only after it has written a request.
    /// The client then repeats an idempotent request on a new connection, and reports an error for any other request.
    package var isIdempotent: Bool
    /// The form in which the client sends the bytes.
    package var delivery = Delivery.whole

    /// The form in which a client sends the bytes of a request. Only a simulated client uses a form other than
    /// `whole`.
    package enum Delivery: Sendable {
        case whole
        /// The body comes in pieces with pauses between them.
        case slow
        /// The connection is reset in the middle of the body.
        case cut
        /// The whole request is sent, and the connection is closed before the answer.
        case impatient
    }

    /// - Parameter isIdempotent: nil if the method decides (RFC 9110, section 9.2.2).
    package init(
        _ method: HTTPMethod,
        _ url: HTTPURL,
        headers: HTTPHeaders = [:],
        body: [UInt8] = [],
        isIdempotent: Bool? = nil
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.isIdempotent = isIdempotent ?? [.GET, .HEAD, .PUT, .DELETE, .OPTIONS].contains(method)
    }
}

/// The answer to a request, whole. Any status is an answer; redirects are not followed.
package struct HTTPClientResponse: Equatable, Sendable {
    package var status: Int
    package var headers: HTTPHeaders
    package var body: [UInt8]
    package var version: HTTPVersion

    package init(
        status: Int,
        headers: HTTPHeaders = [:],
        body: [UInt8] = [],
        version: HTTPVersion = .http1_1
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.version = version
    }

    /// Whether the server takes another request on the connection (RFC 9112, section 9.3).
    package var keepsConnection: Bool {
        HTTPResponseHead(version: self.version, status: .init(statusCode: self.status), headers: self.headers)
            .isKeepAlive
    }
}

extension HTTPClientRequest {
    /// The fault of a header that a server could take for another header or request; nil if no header has a fault.
    var fault: HTTPFault? {
        for (name, value) in self.headers {
            let isName = !name.isEmpty && name.utf8.allSatisfy { 0x21...0x7e ~= $0 && $0 != UInt8(ascii: ":") }
            guard isName, value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }) else {
                return .invalidRequest("a header has characters that HTTP does not allow")
            }
        }
        return nil
    }

    /// The request line and all headers.
    var head: HTTPRequestHead {
        var headers = self.headers
        headers.replaceOrAdd(name: "Host", value: self.url.origin.hostField)
        if !headers.contains(name: "User-Agent") { headers.add(name: "User-Agent", value: "Ferry") }
        headers.remove(name: "Transfer-Encoding")
        headers.remove(name: "Content-Length")
        if !self.body.isEmpty || [.POST, .PUT].contains(self.method) {
            headers.add(name: "Content-Length", value: "\(self.body.count)")
        }
        return HTTPRequestHead(version: .http1_1, method: self.method, uri: self.url.target, headers: headers)
    }
}
