internal import FerryCore

/// Reads lines, and reports bad ones.
struct LineInspector {
    /// The length of APNs' device tokens in bytes. Another length is not a fault, because Apple says that it may change
    /// ("Registering Your App with APNs").
    private static let usualTokenLength = 32

    let reader: LineReader
    let check: LineCheck
    /// Whether a bad line ends the input.
    let isStrict: Bool
    /// Receives messages for people.
    let say: @Sendable (String) -> Void
    private let parser: LineParser
    /// The number of lines so far, including bad and blank ones.
    private(set) var count: UInt64 = 0
    private(set) var goodCount = 0
    private(set) var badCount = 0
    /// The number of good lines that the provider will reject before sending.
    private(set) var refusedCount = 0
    /// Whether a bad line ended the input.
    private(set) var endedBadly = false
    private var sawShortToken = false
    private var sawMissingTopic = false
    private var sawOtherForm = false

    /// - Parameter topic: the topic of lines without one. Nil if the provider supplies it.
    init(
        _ reader: LineReader,
        topic: String?,
        check: LineCheck,
        isStrict: Bool,
        say: @escaping @Sendable (String) -> Void
    ) {
        self.reader = reader
        self.check = check
        self.isStrict = isStrict
        self.say = say
        self.parser = LineParser(topic: topic)
    }

    /// Returns the next good line in memory, with its index. Nil if memory holds no more lines: then call ``fill()``,
    /// unless the input ended badly.
    mutating func next() -> (index: UInt64, line: PushLine)? {
        while !self.endedBadly, let line = self.reader.next() {
            self.count += 1
            if let line = self.parse(line) { return (self.count - 1, line) }
        }
        return nil
    }

    /// Reads more input. Returns false at the end.
    func fill() async throws -> Bool { try await self.reader.fill() }

    private mutating func parse(_ line: LineReader.Line) -> PushLine? {
        do throws(LineFaults) {
            guard case .bytes(let bytes) = line else {
                throw LineFaults(messages: ["the line is longer than \(LineReader.lineLimit) bytes"])
            }
            if Self.isBlank(bytes) { return nil }
            defer { self.warnOfUnknownMembers() }
            let line: PushLine
            do throws(LineFaults) {
                line = try self.parser.parse(bytes)
            } catch {
                self.nameOtherForm(bytes)
                throw error
            }
            if let fault = self.check.fault(of: line) {
                if fault == LineCheck.missingTopic { return self.leaveOutWithoutTopic() }
                throw LineFaults(messages: [fault])
            }
            self.warn(of: line)
            self.goodCount += 1
            return line
        } catch {
            // After a first line of another form, the others are bad for the same reason, until one is good.
            if !(self.sawOtherForm && error.isNoJSON && self.goodCount == 0) { self.name("\(error)") }
            self.badCount += 1
            self.endedBadly = self.isStrict
            return nil
        }
    }

    /// Leaves out a line without a topic. Before the first good line the sentence comes once, because it is often true of
    /// every line.
    private mutating func leaveOutWithoutTopic() -> PushLine? {
        if !self.sawMissingTopic {
            let repetition = self.goodCount == 0 ? "; until a line has one, this is said only once" : ""
            self.name("\(LineCheck.missingTopic); give --topic, or 'topic' in each line\(repetition)")
        } else if self.goodCount > 0 {
            self.name(LineCheck.missingTopic)
        }
        self.sawMissingTopic = true
        self.badCount += 1
        self.endedBadly = self.isStrict
        return nil
    }

    /// Says what to do with JSON that does not stand in lines: an array, or an object over several lines.
    private mutating func nameOtherForm(_ line: UnsafeBufferPointer<UInt8>) {
        guard !self.sawOtherForm, self.goodCount == 0, self.badCount == 0 else { return }
        let first = line.first { $0 > 0x20 }
        let last = line.last { $0 > 0x20 }
        let form: String
        let command: String
        if Self.isUTF16(line) {
            (form, command) = ("the text is UTF-16, and lines are read as UTF-8", "iconv -f UTF-16 -t UTF-8 FILE")
        } else if first == UInt8(ascii: "[") {
            (form, command) = (Self.lineForm, "jq -c '.[]' FILE")
        } else if first == UInt8(ascii: "{"), last == UInt8(ascii: ","), Self.isObjectBeforeComma(line) {
            (form, command) = ("\(Self.lineForm), without a comma after it", "sed 's/,[[:space:]]*$//' FILE")
        } else if first == UInt8(ascii: "{"), last == UInt8(ascii: "{") || last == UInt8(ascii: ",") {
            (form, command) = (Self.lineForm, "jq -c . FILE")
        } else {
            return
        }
        self.sawOtherForm = true
        self.name("\(form); \(command) writes such lines, and ferry push - reads them")
    }

    private static let lineForm = "each notification is one object on one line"

    /// Whether the text begins in UTF-16: with its byte order mark, or with a bracket whose other byte is zero.
    private static func isUTF16(_ line: UnsafeBufferPointer<UInt8>) -> Bool {
        guard line.count >= 2 else { return false }
        let bracket = UInt8(ascii: "{")
        return [(0xff, 0xfe), (0xfe, 0xff), (bracket, 0), (0, bracket)].contains { (line[0], line[1]) == $0 }
    }

    private static func isObjectBeforeComma(_ line: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let comma = line.lastIndex(of: UInt8(ascii: ",")) else { return false }
        return JSONScanner.faultInObject(UnsafeBufferPointer(rebasing: line[..<comma])) == nil
    }

    /// Reports the last line, with a message.
    private func name(_ message: String) {
        self.say("\(self.reader.name):\(self.count): \(message)")
    }

    private mutating func warn(of line: PushLine) {
        if let warning = self.check.warning(of: line) {
            self.name(warning)
            self.refusedCount += 1
        }
        guard line.token.count < Self.usualTokenLength, !self.sawShortToken else { return }
        self.sawShortToken = true
        self.name(
            "warning: the device token has \(line.token.count) bytes, and those of APNs have \(Self.usualTokenLength); "
                + "this is said only once"
        )
    }

    private func warnOfUnknownMembers() {
        guard !self.parser.unknownMembers.isEmpty else { return }
        for name in self.parser.takeUnknownMembers() {
            let advice = name.meant.map { "; \($0)" } ?? ""
            self.name("warning: the member \(name.quoted) is not known and ignored\(advice)")
        }
    }

    private static func isBlank(_ line: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let first = line.first, first <= 0x20 else { return line.isEmpty }
        return line.allSatisfy { $0 == 0x20 || $0 == 0x0d || $0 == 0x09 }
    }
}
