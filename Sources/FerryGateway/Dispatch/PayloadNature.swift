internal import FerryCore

/// What the gateway has to know of a payload that it does not change.
struct PayloadNature: Sendable {
    /// Longer payloads are never identical by nature.
    private static let longestConstant = 256

    /// Whether it is a JSON object.
    var isValid: Bool
    /// Whether payloads like this are the same for every push: device management, content-available only, `{}`. Two equal
    /// ones prove nothing about each other.
    var isConstant: Bool

    init(_ payload: UnsafeBufferPointer<UInt8>) {
        self.isValid = JSONScanner.faultInObject(payload) == nil
        self.isConstant = self.isValid && payload.count <= Self.longestConstant && Self.isConstant(payload)
    }

    private static func isConstant(_ payload: UnsafeBufferPointer<UInt8>) -> Bool {
        var members = JSONMembers(payload)
        var isConstant = true
        // The payload is valid, so that reading its members does not fail.
        while isConstant, let member = try? members.next() {
            if member.key.equals("mdm", in: payload) { return true }
            isConstant =
                member.key.equals("aps", in: payload) && member.value.kind == .object
                && self.isConstant(aps: member.value.bytes(in: payload))
        }
        return isConstant
    }

    /// Whether it has nothing, or content-available alone.
    private static func isConstant(aps: UnsafeBufferPointer<UInt8>) -> Bool {
        var members = JSONMembers(aps)
        while let member = try? members.next() {
            guard member.key.equals("content-available", in: aps) else { return false }
        }
        return true
    }
}
