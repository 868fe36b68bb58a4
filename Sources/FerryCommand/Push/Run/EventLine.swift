internal import Ferry
internal import FerryCore

/// Lines of the events file.
///
/// ```json
/// {"ref":7,"token":"00ff…","outcome":"accepted","proof":"presumed"}
/// {"ref":8,"token":"bad0…","outcome":"rejected","reason":"BadDeviceToken","status":8,"origin":"gateway"}
/// {"ref":9,"token":"00ff…","apnsId":"eabe…","outcome":"accepted","proof":"confirmed"}
/// {"ref":9,"token":"00ff…","apnsId":"eabe…","outcome":"uncertain","reason":"reset","errorCode":2,"error":"INTERNAL_ERROR"}
/// {"ref":7,"token":"00ff…","event":"contradicted","line":7,"reason":"BadDeviceToken","status":8,"origin":"gateway"}
/// {"ref":5,"token":"00ff…","event":"contradicted","line":5,"oneOf":12,"reason":"BadDeviceToken","status":8,"origin":"gateway"}
/// ```
///
/// With `oneOf`, the gateway refused one of that many notifications without naming it, and discarded those after it.
enum EventLine {
    /// Appends the rest of a line with an outcome.
    static func append(_ record: OutcomeRecord, to bytes: inout [UInt8]) {
        if let apnsID = record.apnsID {
            bytes.append(#","apnsId":""#)
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: APNSID.textLength) { text in
                apnsID.writeText(to: text)
                bytes.append(contentsOf: text)
            }
            bytes.append(UInt8(ascii: "\""))
        }
        if let uniqueID = record.apnsUniqueID {
            bytes.append(#","apnsUniqueId":"#)
            bytes.appendJSONString(uniqueID)
        }
        bytes.append(#","outcome":""#)
        bytes.append(record.outcome.word)
        bytes.append(UInt8(ascii: "\""))
        switch record.outcome {
        case .accepted(let acceptance): self.append(#","proof":""#, acceptance.word, to: &bytes)
        case .rejected(let rejection): self.append(rejection, to: &bytes)
        case .expired: bytes.append(UInt8(ascii: "}"))
        case .undelivered(let cause): self.append(#","reason":""#, cause.word, to: &bytes)
        case .uncertain(let cause):
            bytes.append(#","reason":""#)
            bytes.append(cause.word)
            bytes.append(UInt8(ascii: "\""))
            if let errorCode = record.errorCode { self.append(errorCode, to: &bytes) }
            bytes.append(UInt8(ascii: "}"))
        }
        bytes.append(UInt8(ascii: "\n"))
    }

    private static func append(_ errorCode: HTTP2ErrorCode, to bytes: inout [UInt8]) {
        bytes.append(#","errorCode":"#, number: errorCode.rawValue)
        guard let name = errorCode.name else { return }
        bytes.append(#","error":"#)
        bytes.appendJSONString(name)
    }

    /// Appends the rest of a line about an outcome that was wrong.
    ///
    /// - Parameters:
    ///   - line: the line's number, from 1. Nil if it is unknown.
    ///   - suspects: the number of lines of which one is wrong. Nil: this line is wrong.
    static func append(
        _ kind: Contradiction.Kind,
        line: UInt64?,
        count: Int = 1,
        suspects: Int? = nil,
        to bytes: inout [UInt8]
    ) {
        bytes.append(#""event":"contradicted""#)
        if let line { bytes.append(#","line":"#, number: line) }
        if count != 1 { bytes.append(#","count":"#, number: count) }
        if let suspects { bytes.append(#","oneOf":"#, number: suspects) }
        switch kind {
        case .rejected(let rejection): self.append(rejection, to: &bytes)
        case .lost: bytes.append(#","reason":"lost"}"#)
        case .uncertain: bytes.append(#","reason":"uncertain"}"#)
        }
        bytes.append(UInt8(ascii: "\n"))
    }

    private static func append(_ rejection: Rejection, to bytes: inout [UInt8]) {
        bytes.append(#","reason":"#)
        bytes.appendJSONString(rejection.reason.rawValue)
        if let status = rejection.status { bytes.append(#","status":"#, number: status) }
        if let timestamp = rejection.timestamp { bytes.append(#","timestamp":"#, number: timestamp.unixMilliseconds) }
        self.append(#","origin":""#, rejection.origin.word, to: &bytes)
    }

    /// Appends the last member of an object. Its value must need no escapes.
    private static func append(_ key: StaticString, _ word: StaticString, to bytes: inout [UInt8]) {
        bytes.append(key)
        bytes.append(word)
        bytes.append(#""}"#)
    }
}
