internal import Ferry
internal import FerryCore

/// Lines of the events file.
///
/// ```json
/// {"ref":7,"token":"00ff…","outcome":"accepted","proof":"presumed"}
/// {"ref":8,"token":"bad0…","outcome":"rejected","reason":"BadDeviceToken","status":8,"origin":"gateway"}
/// {"ref":9,"token":"00ff…","apnsId":"eabe…","outcome":"accepted","proof":"confirmed"}
/// {"ref":7,"token":"00ff…","event":"contradicted","line":7,"reason":"BadDeviceToken","status":8,"origin":"gateway"}
/// ```
enum EventLine {
    /// Appends what follows the beginning of a line that has an outcome.
    ///
    /// - Parameter apnsID: what APNs knows the notification by; nil on the binary protocol.
    static func append(_ outcome: Outcome, apnsID: APNSID? = nil, to bytes: inout [UInt8]) {
        if let apnsID {
            bytes.append(#","apnsId":""#)
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: APNSID.textLength) { text in
                apnsID.writeText(to: text)
                bytes.append(contentsOf: text)
            }
            bytes.append(UInt8(ascii: "\""))
        }
        switch outcome {
        case .accepted(.confirmed): bytes.append(#","outcome":"accepted","proof":"confirmed"}"#)
        case .accepted(.presumed): bytes.append(#","outcome":"accepted","proof":"presumed"}"#)
        case .rejected(let rejection):
            bytes.append(#","outcome":"rejected""#)
            self.append(rejection, to: &bytes)
        case .expired: bytes.append(#","outcome":"expired"}"#)
        case .undelivered(let cause):
            bytes.append(#","outcome":"undelivered","reason":""#)
            bytes.append(self.word(cause))
            bytes.append(#""}"#)
        case .uncertain(let cause):
            bytes.append(#","outcome":"uncertain","reason":""#)
            bytes.append(self.word(cause))
            bytes.append(#""}"#)
        }
        bytes.append(UInt8(ascii: "\n"))
    }

    /// Appends what follows the beginning of a line that says that an outcome was wrong.
    ///
    /// - Parameter line: the line's number, from 1; nil when it is not known.
    static func append(_ kind: Contradiction.Kind, line: UInt64?, count: Int = 1, to bytes: inout [UInt8]) {
        bytes.append(#""event":"contradicted""#)
        if let line {
            bytes.append(#","line":"#)
            bytes.append(contentsOf: String(line).utf8)
        }
        if count != 1 {
            bytes.append(#","count":"#)
            bytes.append(contentsOf: String(count).utf8)
        }
        switch kind {
        case .rejected(let rejection): self.append(rejection, to: &bytes)
        case .lost: bytes.append(#","reason":"lost"}"#)
        }
        bytes.append(UInt8(ascii: "\n"))
    }

    private static func append(_ rejection: Rejection, to bytes: inout [UInt8]) {
        bytes.append(#","reason":"#)
        bytes.appendJSONString(rejection.reason.rawValue)
        if let status = rejection.status {
            bytes.append(#","status":"#)
            bytes.append(contentsOf: String(status).utf8)
        }
        if let timestamp = rejection.timestamp {
            bytes.append(#","timestamp":"#)
            bytes.append(contentsOf: String(timestamp).utf8)
        }
        bytes.append(#","origin":""#)
        bytes.append(self.word(rejection.origin))
        bytes.append(#""}"#)
    }

    private static func word(_ origin: Rejection.Origin) -> StaticString {
        switch origin {
        case .gateway: "gateway"
        case .apns: "apns"
        case .ferry: "ferry"
        case .inferred: "inferred"
        }
    }

    private static func word(_ cause: Outcome.UndeliveredCause) -> StaticString {
        switch cause {
        case .shutDown: "shutDown"
        case .cancelled: "cancelled"
        case .evicted: "evicted"
        case .discarded: "discarded"
        case .credentials: "credentials"
        case .noConnection: "noConnection"
        case .released: "released"
        case .deadline: "deadline"
        }
    }

    private static func word(_ cause: Outcome.UncertainCause) -> StaticString {
        switch cause {
        case .positionUnknown: "positionUnknown"
        case .peerCloses: "peerCloses"
        case .shutDown: "shutDown"
        case .notRepeated: "notRepeated"
        case .released: "released"
        case .noAnswer: "noAnswer"
        case .reset: "reset"
        }
    }
}
