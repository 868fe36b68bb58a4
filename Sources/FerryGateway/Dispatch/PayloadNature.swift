internal import FerryCore

/// The facts that the gateway needs about a payload.
struct PayloadNature: Sendable {
    /// The length above which payloads are never constant, in bytes.
    private static let longestConstant = 256

    /// Whether the payload is a JSON object.
    var isValid: Bool
    /// Whether payloads of this kind are the same for every push: device management, content-available only, `{}`. So
    /// two equal payloads of this kind do not prove that the second notification is a copy.
    var isConstant: Bool

    init(_ payload: UnsafeBufferPointer<UInt8>) {
        self.isValid = JSONScanner.faultInObject(payload) == nil
        self.isConstant = self.isValid && payload.count <= Self.longestConstant && Self.isConstant(payload)
    }

    private static func isConstant(_ payload: UnsafeBufferPointer<UInt8>) -> Bool {
        var members = JSONMembers(payload)
        var isConstant = true
        // The payload is valid, so reading its members does not fail.
        while isConstant, let member = try? members.next() {
            if member.key.equals("mdm", in: payload) { return true }
            isConstant =
                member.key.equals("aps", in: payload) && member.value.kind == .object
                && self.isConstant(aps: member.value.bytes(in: payload))
        }
        return isConstant
    }

    /// Whether the `aps` object is empty, or has only content-available.
    private static func isConstant(aps: UnsafeBufferPointer<UInt8>) -> Bool {
        var members = JSONMembers(aps)
        while let member = try? members.next() {
            guard member.key.equals("content-available", in: aps) else { return false }
        }
        return true
    }
}
