/// The topic of notifications that name none: the app's bundle ID, with the suffix of each push type.
///
/// All are made at once, so that a request takes its own without an allocation.
package struct DefaultTopic: Sendable {
    /// The topic of each code of a push type; 0 is that of notifications without one.
    private let topics: [[UInt8]]

    /// - Parameter bundleID: nil when there is no default.
    package init(bundleID: String?, table: PushTypeTable) {
        guard let bundleID, !bundleID.isEmpty else {
            self.topics = []
            return
        }
        let bytes = Array(bundleID.utf8)
        self.topics = [bytes] + table.all.map { $0.suffix.topic(of: bytes) }
    }

    /// Whether there is one.
    package var exists: Bool { !self.topics.isEmpty }

    /// Gives the topic for a push type's code to `body`; no bytes when there is none.
    @inline(__always)
    package func withBytes<R>(pushType code: UInt8, _ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
        guard self.topics.indices.contains(Int(code)) else { return body(UnsafeBufferPointer(start: nil, count: 0)) }
        return self.topics[Int(code)].withUnsafeBufferPointer(body)
    }

    /// Whether `topic` is the bundle ID.
    func isBundleID(_ topic: UnsafeBufferPointer<UInt8>) -> Bool {
        self.topics.first.map { $0.elementsEqual(topic) } ?? false
    }
}
