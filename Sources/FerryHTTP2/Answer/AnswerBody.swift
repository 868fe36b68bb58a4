package import FerryCore
internal import FerryPlatform

/// The JSON that gives the reason: the body of a failure, or the debug data of a GOAWAY.
///
/// ```
/// {"reason":"Unregistered","timestamp":1437179036000}
/// ```
///
/// Bytes that are not a complete object of this kind give no reason. Members with other names and types are ignored. If
/// a name occurs twice, the last counts.
///
/// Source: "Handling notification responses from APNs" (Apple), table of keys.
package struct AnswerBody: Hashable, Sendable {
    /// A reason of 1 to ``maximumReasonLength`` printable ASCII characters.
    package private(set) var reason: Reason?
    /// Milliseconds since the UNIX epoch.
    package private(set) var timestamp: Int64?

    /// The longest body that is read; APNs' bodies are far shorter. The limit bounds the cost of one body.
    package static let maximumLength = 8192
    /// The times that are read, in milliseconds, until the year 9999. A later time is ignored.
    private static let times = 0...Date.unixMillisecondsRange.upperBound
    /// The longest reason; Apple's longest has 27 characters. A reason appears in outcomes and on screens, so its
    /// length is bounded and it may have no control character.
    package static let maximumReasonLength = 128

    package init(_ text: UnsafeBufferPointer<UInt8>) {
        guard text.count <= Self.maximumLength else { return }
        var (reason, timestamp): (Reason?, Int64?) = (nil, nil)
        do throws(JSONFault) {
            var members = JSONMembers(text)
            while let member = try members.next() {
                if member.key.equals("reason", in: text) {
                    reason = Self.reason(member.value, in: text)
                } else if member.key.equals("timestamp", in: text) {
                    timestamp = member.value.integer(in: text).flatMap { Self.times ~= $0 ? $0 : nil }
                }
            }
        } catch {
            return
        }
        self.reason = reason
        self.timestamp = timestamp
    }

    private static func reason(_ value: JSONValue, in text: UnsafeBufferPointer<UInt8>) -> Reason? {
        guard let string = try? value.text?.decoded(in: text),
            1...self.maximumReasonLength ~= string.utf8.count,
            string.utf8.allSatisfy({ 0x20...0x7e ~= $0 })
        else { return nil }
        return Reason(rawValue: string)
    }
}
