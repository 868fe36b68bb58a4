internal import FerryCore

/// An input that does not have one notification in each line, as its first line shows: an array, an object over several
/// lines, objects with commas between them, or UTF-16; or objects where device tokens should stand.
enum OtherForm {
    case array
    case unfinishedObject
    case commas
    case utf16
    case objects

    /// Returns nil if the line shows no such form.
    ///
    /// - Parameter isToken: whether a line should be a device token, and not an object.
    init?(_ line: UnsafeBufferPointer<UInt8>, isToken: Bool) {
        let first = line.first { $0 > 0x20 }
        if Self.isUTF16(line) {
            self = .utf16
        } else if isToken {
            guard first == UInt8(ascii: "{") else { return nil }
            self = .objects
        } else if first == UInt8(ascii: "[") {
            self = .array
        } else if first == UInt8(ascii: "{"), JSONScanner.faultInObject(line)?.reason == .endsEarly {
            self = .unfinishedObject
        } else if first == UInt8(ascii: "{"), Self.isObjectBeforeComma(line) {
            self = .commas
        } else {
            return nil
        }
    }

    /// The fault, and the command that writes lines.
    var sentence: String {
        let (fault, command) =
            switch self {
            case .objects: ("each line is one device token", "jq -r .token FILE")
            case .array: (Self.rule, "jq -c '.[]' FILE")
            case .unfinishedObject: (Self.rule, "jq -c . FILE")
            case .commas: ("\(Self.rule), without a comma after it", "sed 's/,[[:space:]]*$//' FILE")
            case .utf16: ("the text is UTF-16, and lines are read as UTF-8", "iconv -f UTF-16 -t UTF-8 FILE")
            }
        return
            "\(fault); \(command) writes such lines, and \(self == .objects ? "--tokens" : "ferry push") - reads them"
    }

    private static let rule = "each notification is one object on one line"

    /// Whether the text begins in UTF-16, with a byte order mark or with a bracket beside a zero byte.
    private static func isUTF16(_ line: UnsafeBufferPointer<UInt8>) -> Bool {
        guard line.count >= 2 else { return false }
        let bracket = UInt8(ascii: "{")
        return [(0xff, 0xfe), (0xfe, 0xff), (bracket, 0), (0, bracket)].contains { (line[0], line[1]) == $0 }
    }

    private static func isObjectBeforeComma(_ line: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let last = line.lastIndex(where: { $0 > 0x20 }), line[last] == UInt8(ascii: ",") else { return false }
        return JSONScanner.faultInObject(UnsafeBufferPointer(rebasing: line[..<last])) == nil
    }
}
