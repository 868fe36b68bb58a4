internal import FerryCore

/// A reader of the answers of ``StoreDesk``.
package enum ControlAnswer {
    /// Reads the answer to ``ControlRequest/take(signedPayload:)``.
    package static func taken(_ lines: [[UInt8]]) -> AppStoreSinkAnswer {
        guard let object = lines.first.flatMap({ JSONObject($0) }) else { return .failed("There is no answer.") }
        return switch object.string("result") {
        case "stored": .stored
        case "duplicate": .duplicate
        case "refused": .refused(self.refusal(object))
        default: .failed(object.string("reason") ?? object.string("error") ?? "The answer is not known.")
        }
    }

    private static func refusal(_ object: JSONObject) -> AppStoreVerificationError {
        // A process of a later version may send a code that this process does not know.
        let code = object.string("code").flatMap(AppStoreVerificationError.Code.init(rawValue:)) ?? .notUnderstood
        return AppStoreVerificationError(code, object.string("reason") ?? "The process that has the store refuses it.")
    }
}
