internal import FerryHTTP1
internal import FerryOpenSSL
internal import FerryPlatform
internal import NIOCore

/// A client of the process that has a store.
package struct ControlClient: Sendable {
    /// The reason why the process does not answer.
    package enum Failure: Error, Sendable {
        /// No process listens on the socket.
        case noProcess
        /// Any other failure, as a sentence.
        case failed(String)
    }

    /// The longest answer that is accepted, in bytes. A list of 10,000 notifications is shorter, even with several
    /// destinations for each.
    private static let longestAnswer = 64 << 20
    private static let answerLimit: Duration = .seconds(60)

    private let url: HTTPURL
    private let client: HTTPClient

    package init(store: String) throws(Failure) {
        self.url = HTTPURL(socketPath: ControlServer.path(store: store))
        do throws(TLSError) {
            self.client = try HTTPClient()
        } catch {
            throw .failed(error.description)
        }
    }

    /// Whether the path of a store's socket is short enough for the system.
    package static func fits(store: String) -> Bool {
        (try? SocketAddress(unixDomainSocketPath: ControlServer.path(store: store))) != nil
    }

    /// Sends a request, and returns the lines of the answer, without line feeds. Waits at most 60 s.
    package func ask(_ request: ControlRequest) async throws(Failure) -> [[UInt8]] {
        let route = request.route
        guard let url = try? self.url.with(target: route.target) else {
            throw .failed("The request cannot be written.")
        }
        var post = HTTPClientRequest(
            route.method,
            url,
            body: Array(route.body.utf8),
            isIdempotent: request.isIdempotent
        )
        post.bodyLimit = Self.longestAnswer
        let response: HTTPClientResponse
        do throws(HTTPClientError) {
            response = try await self.client.send(post, within: Self.answerLimit)
        } catch {
            throw Self.failure(error)
        }
        guard response.body.last == UInt8(ascii: "\n") else {
            throw .failed("The process that has the store answered with status \(response.status).")
        }
        return response.body.split(separator: UInt8(ascii: "\n")).map(Array.init)
    }

    private static func failure(_ error: HTTPClientError) -> Failure {
        switch error.fault {
        // When a process is killed, the file of its socket stays, and a connection to it is refused.
        case .unconnected(let error as IOError) where [ENOENT, ECONNREFUSED].contains(error.errnoCode): .noProcess
        case .unconnected(is SocketAddressError):
            .failed("The path of the store is too long for the socket beside it: move the store.")
        case .malformed:
            .failed(
                """
                The process that has the store is of an older version of Ferry, and does not understand this command: \
                restart it, or use the 'ferry' that it was started with.
                """
            )
        case .tooLong:
            .failed("The list is longer than \(Self.longestAnswer >> 20) MiB: ask for fewer at a time.")
        default: .failed("The process that has the store does not answer: \(error.description)")
        }
    }
}
