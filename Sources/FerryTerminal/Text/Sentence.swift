internal import FerryPlatform
internal import NIOCore
internal import NIOPosix

/// The message of a library's error, in words for people.
package enum Sentence {
    package static func of(_ error: any Error) -> String {
        switch error {
        case let error as DecodingError: self.of(error)
        case let error as CocoaError: self.of(error)
        case let error as IOError: String(cString: strerror(error.errnoCode))
        case let error as NIOConnectionError:
            error.connectionErrors.first.map { self.of($0.error) } ?? "the host name cannot be resolved"
        case is SocketAddressError: "there is no such address"
        case is SocketAddressError.UnknownHost: "the host name cannot be resolved"
        default: "\(error)"
        }
    }

    private static func of(_ error: DecodingError) -> String {
        switch error {
        case .dataCorrupted(let context):
            self.of(context)
        case .keyNotFound(let key, let context):
            "'\(key.stringValue)' is missing" + self.place(context)
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            self.of(context)
        @unknown default:
            "\(error)"
        }
    }

    private static func of(_ context: DecodingError.Context) -> String {
        context.debugDescription + self.place(context)
    }

    private static func place(_ context: DecodingError.Context) -> String {
        let path = context.codingPath.map { $0.intValue.map(String.init) ?? $0.stringValue }
        return path.isEmpty ? "" : " (at \(path.joined(separator: ".")))"
    }

    private static func of(_ error: CocoaError) -> String {
        switch error.code {
        case .fileReadNoSuchFile, .fileNoSuchFile: "the file does not exist"
        case .fileReadNoPermission, .fileWriteNoPermission: "permission denied"
        case .fileReadTooLarge: "the file is too large"
        case .fileWriteFileExists: "a file of that name is in the way"
        // Foundation's own message would name the file, and that name may be a secret.
        default:
            (error.underlying as? POSIXError).map { String(cString: strerror($0.code.rawValue)) }
                ?? "the system refuses it (Cocoa error \(error.code.rawValue))"
        }
    }
}
