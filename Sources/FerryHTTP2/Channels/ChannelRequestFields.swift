internal import FerryCore

/// The fields of a request about channels.
///
/// `apns-channel-id` may go into the HPACK table. `authorization` may not: Apple's older page forbids it.
///
/// Source: "Sending channel management requests to APNs" (Apple).
package enum ChannelRequestFields {
    package static let pathStart: StaticString = "/1/apps/"
    /// The longest bundle ID. It stands in the path.
    package static let maximumBundleIDLength = 255

    /// Whether the text can be a bundle ID. Other text could change the path.
    package static func isBundleID(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { 1...self.maximumBundleIDLength ~= $0.count && RequestCheck.isBundleID($0) }
    }

    /// Writes the fields. The block refers to the texts, so it is used within `body` only.
    static func write<R, Failure: Error>(
        _ call: ChannelCall,
        authority: String,
        bundleID: String,
        authorization: [UInt8]?,
        into block: inout HeaderBlock,
        _ body: (borrowing HeaderBlock) throws(Failure) -> R
    ) throws(Failure) -> R {
        let path = Array("\(self.pathStart)\(bundleID)\(call.operation.pathEnd)".utf8)
        // One array keeps the texts in place: path, authority, token and channel.
        let channelID = Array((call.operation.channelID?.rawValue ?? "").utf8)
        let (authority, authorization) = (Array(authority.utf8), authorization ?? [])
        let texts = path + authority + authorization + channelID
        return try texts.withUnsafeBufferPointer { texts throws(Failure) in
            var start = 0
            func next(_ text: [UInt8]) -> UnsafeBufferPointer<UInt8> {
                defer { start += text.count }
                return UnsafeBufferPointer(rebasing: texts[start..<start + text.count])
            }
            block.clear()
            block.append(":method", call.operation.method)
            block.append(":scheme", "https")
            block.append(":path", next(path))
            block.append(":authority", next(authority))
            let token = next(authorization)
            if !token.isEmpty { block.append("authorization", token, .literal) }
            if !channelID.isEmpty { block.append("apns-channel-id", next(channelID)) }
            block.append("apns-request-id", upTo: APNSID.textLength, .literal) { target in
                call.requestID.writeText(to: UnsafeMutableBufferPointer(start: target, count: APNSID.textLength))
                return APNSID.textLength
            }
            return try body(block)
        }
    }
}
