/// The topics of notifications without one: the app's bundle ID, with the suffix of each push type.
///
/// All are made in advance, so that a request needs no allocation.
package struct DefaultTopic: Sendable {
    /// The topics by the code of the push type. Code 0 is a notification without a push type.
    private let topics: [[UInt8]]

    /// - Parameter bundleID: the app's bundle ID; nil if there is no default.
    package init(bundleID: String?, table: PushTypeTable) {
        guard let bundleID, !bundleID.isEmpty else {
            self.topics = []
            return
        }
        let bytes = Array(bundleID.utf8)
        self.topics = [bytes] + table.all.map { $0.suffix.topic(of: bytes) }
    }

    /// Whether there is a default topic.
    package var exists: Bool { !self.topics.isEmpty }

    /// Calls `body` with the topic for a push type's code, or with no bytes if there is no default topic.
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
