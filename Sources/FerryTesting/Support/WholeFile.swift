internal import FerryCore
internal import FerryPlatform

/// Reads a file into memory, without a byte order mark.
///
/// - Throws: `CocoaError` if it cannot be read, or has more than `limit` bytes.
func wholeFile(_ path: String, limit: Int) throws(CocoaError) -> [UInt8] {
    let bytes: [UInt8]
    do {
        bytes = try FileStart.read(path, limit: limit)
    } catch {
        switch error {
        case .noSuchFile: throw CocoaError(.fileReadNoSuchFile)
        case .noPermission: throw CocoaError(.fileReadNoPermission)
        default: throw CocoaError(.fileReadUnknown)
        }
    }
    guard bytes.count <= limit else { throw CocoaError(.fileReadTooLarge) }
    return bytes
}
