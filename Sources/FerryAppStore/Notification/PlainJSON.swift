internal import FerryCore

/// The plain form of a notification: Apple's JSON, with the content of each signed text in place of the text.
///
/// All other bytes stay as Apple wrote them. So numbers keep all their digits, and unknown members stay.
enum PlainJSON {
    private enum Change {
        case keep
        case drop
        case replace(name: String, json: [UInt8])
    }

    private static let prefix = "signed"
    /// The name of a date, which looks like the name of a signed text.
    private static let date = "signedDate"

    /// The signed texts that Apple documents.
    static let knownSigned: Set<String> = ["signedTransactionInfo", "signedRenewalInfo", "signedAppTransactionInfo"]

    /// Whether a member with this name has a signed text, such as `signedTransactionInfo`. Texts that Apple adds later
    /// have such names, too.
    static func isSigned(_ name: String) -> Bool {
        name.hasPrefix(self.prefix) && name != self.date && name.utf8.count > self.prefix.utf8.count
    }

    /// The name of the object that replaces a signed text: `transactionInfo` for `signedTransactionInfo`.
    static func plainName(_ name: String) -> String {
        let rest = name.dropFirst(self.prefix.count)
        return rest.prefix(1).lowercased() + rest.dropFirst()
    }

    /// Returns the text of `payload`. In its object `content`, each value of `objects` replaces the signed text with
    /// that name.
    static func make(_ payload: JSONObject, in content: String, replacing objects: [String: [UInt8]]) -> [UInt8] {
        guard !objects.isEmpty else { return payload.text }
        return self.make(payload) { name, _ in
            guard name == content, let inner = payload.object(name) else { return .keep }
            let json = self.make(inner) { name, _ in
                objects[name].map { .replace(name: self.plainName(name), json: $0) } ?? .keep
            }
            return .replace(name: name, json: json)
        }
    }

    /// Returns an object without the member `dropped`.
    static func make(_ object: JSONObject, without dropped: String) -> [UInt8] {
        self.make(object) { name, _ in name == dropped ? .drop : .keep }
    }

    private static func make(_ object: JSONObject, _ change: (String, JSONValue) -> Change) -> [UInt8] {
        var json = [UInt8(ascii: "{")]
        json.reserveCapacity(object.text.count)
        for member in object.members {
            let (name, text): (String, ArraySlice<UInt8>)
            switch change(member.name, member.value) {
            case .drop: continue
            case .keep: (name, text) = (member.name, object.json(member.value))
            case .replace(let other, let replacement): (name, text) = (other, replacement[...])
            }
            if json.count > 1 { json.append(UInt8(ascii: ",")) }
            json += JSONText.quoted(name)
            json.append(UInt8(ascii: ":"))
            json += text
        }
        json.append(UInt8(ascii: "}"))
        return json
    }
}
