/// The status of an APNs response over HTTP/2: the value of `:status`, 100 to 999.
///
/// Open: a status that is not in Apple's table is kept as it came.
///
/// Source: "Handling notification responses from APNs" (Apple), table of status codes.
package struct HTTPStatus: RawRepresentable, Hashable, Sendable {
    package var rawValue: Int

    package init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// Success.
    package static let ok = HTTPStatus(rawValue: 200)
}
