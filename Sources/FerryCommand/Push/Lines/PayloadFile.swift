internal import FerryCore
internal import FerryTerminal

/// The file of `--payload`: the one payload that goes to many device tokens.
enum PayloadFile {
    /// The number of bytes that are read, far above any good payload.
    private static let limit = 1 << 16

    /// Returns the payload without white space around it.
    ///
    /// - Throws: ``CommandFailure`` with status 2 if the file cannot be read, or if the backend cannot send the payload to
    ///   any device. So the fault is named once, and not for each device token.
    static func read(_ path: String, for backend: PushBackend) throws(CommandFailure) -> [UInt8] {
        let bytes: [UInt8]
        do {
            bytes = try FileDescriptor.contents(of: path, limit: Self.limit)
        } catch {
            throw .usage("The payload cannot be read: \(error)")
        }
        let payload = Array(bytes.drop { Self.isSpace($0) }.reversed().drop { Self.isSpace($0) }.reversed())
        if let fault = payload.withUnsafeBufferPointer({ PushNotification.faults(payload: $0).first }) {
            throw Self.failure(path, fault.message)
        }
        let parser = LineParser(topic: backend.topic, payload: payload)
        let fault = Self.someToken.withUnsafeBufferPointer { token -> String? in
            guard let line = try? parser.parse(token) else { return nil }
            return backend.check.fault(of: line) ?? backend.check.warning(of: line)
        }
        switch fault {
        case nil: return payload
        case LineCheck.missingTopic: throw .usage("--tokens needs --topic here, the bundle ID of the app.")
        case let fault?: throw Self.failure(path, fault)
        }
    }

    /// A device token of APNs' length.
    private static let someToken = [UInt8](repeating: UInt8(ascii: "0"), count: 64)

    /// White space of JSON (RFC 8259 section 2).
    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 }

    private static func failure(_ path: String, _ fault: String) -> CommandFailure {
        .usage("\(FileName(path).words(option: "--payload")): \(fault)")
    }
}
