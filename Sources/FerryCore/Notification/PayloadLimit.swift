/// The largest payloads in bytes, and the words for a larger one.
package enum PayloadLimit {
    /// APNs over HTTP/2: 4 KB, for every push type but voip. Source: "Generating a remote notification" (Apple).
    package static let http2 = 4096
    /// APNs over HTTP/2: 5 KB, for voip.
    package static let voip = 5120
    /// APNs over HTTP/2, to a broadcast channel: 5 KB. Source: "Sending broadcast push notification requests to APNs" (Apple).
    package static let broadcast = 5120
    /// Apple's gateway since iOS 8. Source: "Binary Provider API" (Apple).
    package static let binary = 2048
    /// Apple's gateway before iOS 8.
    package static let oldBinary = 256

    /// The fault of a payload with `length` bytes, as part of a sentence.
    package static func fault(length: Int, limit: Int) -> String {
        "the payload has \(length) bytes; the limit is \(limit)"
    }
}
