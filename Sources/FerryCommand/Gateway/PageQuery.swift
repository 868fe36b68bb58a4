internal import FerryHTTP1
internal import FerryPlatform

/// The query by which a command asks for a page of letters, or of what waits.
enum PageQuery {
    /// - Parameters:
    ///   - place: the place behind the last page; nil for the first page.
    ///   - age: the smallest age in seconds; nil for any.
    ///   - now: the time of the command. The pages of one command must not move with the clock.
    static func text(after place: String?, client: String?, reason: String?, age: Double?, now: Date) -> String {
        let before = age.map { "\(UInt32(clamping: Int(max(now.timeIntervalSince1970 - $0, 0))))" }
        let members = [("after", place), ("client", client), ("reason", reason), ("before", before)]
            .compactMap { name, value in value.map { "\(name)=\(HTTPURL.encoded($0))" } }
        return members.isEmpty ? "" : "?" + members.joined(separator: "&")
    }
}
