internal import FerryPlatform

/// A verified object of the App Store: a transaction or a renewal.
public struct AppStoreSignedObject: Hashable, Sendable {
    /// Apple's object in plain JSON (UTF-8), as it was signed.
    public let json: [UInt8]

    /// Decodes ``json`` as a type of your own.
    ///
    /// - Throws: `DecodingError`.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        try JSONDecoder().decode(type, from: Data(self.json))
    }
}
