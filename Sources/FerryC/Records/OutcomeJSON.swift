internal import CFerry
internal import FerryCore

/// The JSON object of an outcome. `ferry.h` and `Docs/commands/push.md` document the members.
enum OutcomeJSON {
    /// Returns a JSON object; nil if no outcome has these numbers.
    ///
    /// - Parameter trouble: the current error of the provider; nil if there is no error.
    static func text(_ outcome: ferry_outcome, trouble: ProviderError?) -> [UInt8]? {
        guard let known = Outcome(outcome) else { return nil }
        var json = Array(#"{"outcome":""#.utf8)
        json.append(contentsOf: "\(known.word)\"".utf8)
        switch known {
        case .accepted(let acceptance): json.append(contentsOf: #","proof":"\#(acceptance.word)""#.utf8)
        case .rejected(let rejection):
            json.append(contentsOf: #","reason":"#.utf8)
            json.appendJSONString(rejection.reason.rawValue)
            if let status = rejection.status { json.append(contentsOf: ",\"status\":\(status)".utf8) }
            if outcome.timestamp != 0 { json.append(contentsOf: ",\"timestamp\":\(outcome.timestamp)".utf8) }
            json.append(contentsOf: #","origin":"\#(rejection.origin.word)""#.utf8)
        case .expired: break
        case .undelivered(let cause): json.append(contentsOf: #","reason":"\#(cause.word)""#.utf8)
        case .uncertain(let cause): json.append(contentsOf: #","reason":"\#(cause.word)""#.utf8)
        }
        if let apnsID = Self.apnsID(of: outcome) { json.append(contentsOf: #","apnsId":"\#(apnsID)""#.utf8) }
        json.append(contentsOf: #","sentence":"#.utf8)
        json.appendJSONString(known.inWords(trouble: trouble))
        json.append(UInt8(ascii: "}"))
        return json
    }

    private static func apnsID(of outcome: ferry_outcome) -> APNSID? {
        guard Int32(outcome.flags) & FERRY_OUTCOME_APNS_ID != 0 else { return nil }
        return withUnsafeBytes(of: outcome.apns_id) { bytes in
            bytes.assumingMemoryBound(to: UInt8.self).baseAddress.map { APNSID(reading: $0) }
        }
    }
}
