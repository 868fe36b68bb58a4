internal import FerryCore
internal import FerryHTTP2
internal import FerryPlatform

extension PushLine {
    private static let types = PushTypeTable()

    /// Whether the payload has neither `aps` nor `mdm`, and is for a push type that needs one of them. Other push
    /// types, such as voip, hand the whole payload to the app.
    var showsNothing: Bool { !self.mayHaveContent && self.needsContent && !self.hasContent }

    /// Whether one of the names is in quotes anywhere in the payload. Few payloads need the slower search.
    private var mayHaveContent: Bool { self.payload.holds("\"aps\"") || self.payload.holds("\"mdm\"") }

    private var needsContent: Bool {
        switch self.pushType {
        case .alert, .background, .liveactivity: true
        case nil: !Self.types.all.contains { $0.type != .liveactivity && $0.suffix.ends(self.topic) }
        default: false
        }
    }

    /// Whether a member has one of the names, even if it is written with escapes.
    private var hasContent: Bool {
        var members = JSONMembers(self.payload)
        while let member = try? members.next() {
            if member.key.equals("aps", in: self.payload) || member.key.equals("mdm", in: self.payload) { return true }
        }
        return false
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Whether a name in quotes is anywhere in the bytes.
    fileprivate func holds(_ quoted: StaticString) -> Bool {
        var rest = UnsafeRawBufferPointer(self)
        while rest.count >= quoted.utf8CodeUnitCount, let base = rest.baseAddress,
            let quote = memchr(base, Int32(UInt8(ascii: "\"")), rest.count)
        {
            rest = UnsafeRawBufferPointer(rebasing: rest[(UnsafeRawPointer(quote) - base)...])
            guard rest.count >= quoted.utf8CodeUnitCount, let start = rest.baseAddress else { return false }
            if memcmp(start, quoted.utf8Start, quoted.utf8CodeUnitCount) == 0 { return true }
            rest = UnsafeRawBufferPointer(rebasing: rest[1...])
        }
        return false
    }
}
