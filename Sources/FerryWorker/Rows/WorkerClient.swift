internal import FerryHTTP2

/// A client whose rows a worker delivers.
package struct WorkerClient: Sendable {
    /// The value of the column `client`.
    package let name: String
    /// The index of its upstream in the array that the worker was started with.
    package let upstream: Int
    /// Whether a push that may have arrived is sent once more, if it was the row's first attempt.
    package let repeatsUnknown: Bool
    /// The topic of a row that names no topic, by the code of its push type.
    private let defaultTopic: DefaultTopic
    private let topics: Set<[UInt8]>

    /// - Parameter topics: at least one. A row that names no topic gets the first one, with the suffix of its push
    ///   type. A row may name any of them, with or without such a suffix.
    package init(name: String, upstream: Int, topics: [String], repeatsUnknown: Bool = true) {
        self.name = name
        self.upstream = upstream
        self.repeatsUnknown = repeatsUnknown
        let table = PushTypeTable()
        self.defaultTopic = DefaultTopic(bundleID: topics.first, table: table)
        self.topics = Set(
            topics.flatMap { topic in
                let bytes = Array(topic.utf8)
                return [bytes] + table.all.map { $0.suffix.topic(of: bytes) }
            }
        )
    }

    func allows(_ topic: [UInt8]) -> Bool { self.topics.contains(topic) }

    func topic(pushType code: UInt8) -> [UInt8] { self.defaultTopic.withBytes(pushType: code) { Array($0) } }
}
