internal import FerryOptions
internal import FerryTerminal

extension CredentialMaterial {
    /// The longest path: PATH_MAX of Linux.
    private static let longestPath = 4096

    /// Returns nil if the value is neither a path, nor PEM text, nor a Buffer.
    init?(_ value: OptionValue) {
        switch value {
        case .text(let text):
            if text.contains("-----BEGIN ") {
                self = .bytes(Array(text.utf8))
            } else if Self.isPath(text) {
                self = .file(text)
            } else {
                return nil
            }
        case .object(let members):
            // The form in which `JSON.stringify` writes a Buffer.
            guard members["type"] == .text("Buffer"), case .list(let data) = members["data"] else { return nil }
            let bytes = data.compactMap { item -> UInt8? in
                if case .number(let number) = item { UInt8(exactly: number) } else { nil }
            }
            guard bytes.count == data.count, !bytes.isEmpty else { return nil }
            self = .bytes(bytes)
        default:
            return nil
        }
    }

    private static func isPath(_ text: String) -> Bool {
        1...Self.longestPath ~= text.utf8.count && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
    }
}
