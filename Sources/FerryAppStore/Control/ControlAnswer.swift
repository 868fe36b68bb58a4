/// Reads answers of ``StoreDesk``.
package enum ControlAnswer {
    /// The answer to ``ControlRequest/take(signedPayload:)``.
    package static func taken(_ lines: [[UInt8]]) -> AppStoreSinkAnswer {
        guard let object = lines.first.flatMap({ JSONObject($0) }) else { return .failed("There is no answer.") }
        return switch object.string("result") {
        case "stored": .stored
        case "duplicate": .duplicate
        default: .failed(object.string("reason") ?? object.string("error") ?? "The answer is not known.")
        }
    }
}
