package import FerryCore

/// The JSON that tells why: the body of a failure, and the debug data of a GOAWAY.
///
/// ```
/// {"reason":"Unregistered","timestamp":1437179036000}
/// ```
///
/// What is no such object, or a part of one, tells nothing. Members of other names and other types are passed over; of a
/// name that occurs twice, the last counts.
///
/// Source: "Handling notification responses from APNs" (Apple), table of keys.
package struct AnswerBody: Hashable, Sendable {
    /// A reason of 1 to ``maximumReasonLength`` printable ASCII characters.
    package private(set) var reason: Reason?
    /// Milliseconds since the UNIX epoch.
    package private(set) var timestamp: Int64?

    /// No body of APNs comes near it. A longer one is not read, and so one look costs at most this many bytes.
    package static let maximumLength = 8192
    /// Apple's longest is 27. A reason ends up in outcomes and on screens, so there is a limit, and no control character.
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
                    timestamp = member.value.integer(in: text).flatMap { $0 < 0 ? nil : $0 }
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
