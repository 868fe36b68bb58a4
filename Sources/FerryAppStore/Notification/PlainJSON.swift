internal import FerryCore

/// The plain form of a notification: Apple's JSON, with the content of each signed text in place of the text.
///
/// All other values stay as Apple wrote them, byte for byte. So numbers keep all their digits. Unknown members stay,
/// too.
enum PlainJSON {
    private enum Change {
        case keep
        case drop
        case replace(name: String, json: [UInt8])
    }

    private static let prefix = "signed"
    /// The name of a date. This name begins like the name of a signed text.
    private static let date = "signedDate"

    /// The signed texts that Apple documents.
    static let knownSigned: Set<String> = ["signedTransactionInfo", "signedRenewalInfo", "signedAppTransactionInfo"]

    /// Whether the name is that of a signed text, such as `signedTransactionInfo`. Every longer name that begins with
    /// `signed` counts, because Apple may add texts. Only `signedDate` does not count.
    static func isSigned(_ name: String) -> Bool {
        name.hasPrefix(self.prefix) && name != self.date && name.utf8.count > self.prefix.utf8.count
    }

    /// The name of the object that replaces a signed text: `transactionInfo` for `signedTransactionInfo`.
    static func plainName(_ name: String) -> String {
        let rest = name.dropFirst(self.prefix.count)
        return rest.prefix(1).lowercased() + rest.dropFirst()
    }

    /// Returns `payload` as JSON. In the member `content` of `payload`, each signed text whose name is a key of
    /// `objects` is replaced by the value of that key.
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
