internal import FerryCore

/// Finds a member that stands twice in one object of a JSON text. A decoder would take one of them in silence, and a person
/// who reads the file may take the other.
enum MemberTwice {
    /// Returns the path of the first such member, such as "clients[0].name"; nil if there is none.
    ///
    /// - Parameter text: one JSON object. Its syntax was checked, and so its depth.
    static func find(in text: UnsafeBufferPointer<UInt8>) -> String? { self.find(object: text, at: "") }

    private static func find(object text: UnsafeBufferPointer<UInt8>, at path: String) -> String? {
        var walk = JSONMembers(text)
        var names: Set<String> = []
        while let member = try? walk.next(), let name = try? member.key.decoded(in: text) {
            let place = path.isEmpty ? name : "\(path).\(name)"
            guard names.insert(name).inserted else { return place }
            if let found = self.find(value: member.value, in: text, at: place) { return found }
        }
        return nil
    }

    private static func find(
        value: JSONValue,
        in text: UnsafeBufferPointer<UInt8>,
        at path: String
    ) -> String? {
        switch value.kind {
        case .object: self.find(object: value.bytes(in: text), at: path)
        case .array: self.find(array: value.bytes(in: text), at: path)
        default: nil
        }
    }

    private static func find(array text: UnsafeBufferPointer<UInt8>, at path: String) -> String? {
        var scanner = JSONScanner(text)
        var index = 0
        _ = scanner.skip(UInt8(ascii: "["))
        scanner.skipWhitespace()
        while let byte = scanner.peek(), byte != UInt8(ascii: "]"), let element = try? scanner.skipValue() {
            if let found = self.find(value: element, in: text, at: "\(path)[\(index)]") { return found }
            index += 1
            scanner.skipWhitespace()
            _ = scanner.skip(UInt8(ascii: ","))
            scanner.skipWhitespace()
        }
        return nil
    }
}
