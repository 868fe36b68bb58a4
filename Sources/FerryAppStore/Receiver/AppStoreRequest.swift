/// A request to the URL of a receiver. A request has plain values, so that any HTTP server can make it.
public struct AppStoreRequest: Sendable {
    /// The method, in capital letters: `POST`.
    public var method: String
    /// The body, without any transfer coding.
    public var body: [UInt8]

    /// The time at which the last byte arrived. The receiver's time limit begins at this time; if nil, at the call of
    /// ``AppStoreReceiver/answer(to:)``.
    public var received: ContinuousClock.Instant?

    /// Makes a request.
    public init(method: String = "POST", body: [UInt8], received: ContinuousClock.Instant? = nil) {
        self.method = method
        self.body = body
        self.received = received
    }
}

/// The largest bodies, in bytes.
enum RequestLimit {
    /// Notifications of version 2 have 5 to 19 KB.
    static let version2 = 256 << 10
    /// Notifications of version 1 have 50 KB and more.
    static let version1 = 2 << 20
}
