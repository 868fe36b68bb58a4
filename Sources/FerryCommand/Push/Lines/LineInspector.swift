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
    /// Whether a line is a device token.
    private let hasTokens: Bool
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
    private var sawEmptyPayload = false

    /// - Parameters:
    ///   - topic: the topic of lines without one. Nil if the provider supplies it.
    ///   - payload: the payload of lines that are device tokens. Nil: a line is an object.
    init(
        _ reader: LineReader,
        topic: String?,
        payload: [UInt8]?,
        check: LineCheck,
        isStrict: Bool,
        say: @escaping @Sendable (String) -> Void
    ) {
        self.reader = reader
        self.check = check
        self.isStrict = isStrict
        self.say = say
        self.parser = LineParser(topic: topic, payload: payload)
        self.hasTokens = payload != nil
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
                if self.goodCount == 0, self.badCount == 0, let form = OtherForm(bytes, isToken: self.hasTokens) {
                    // A later line may look like a good one, because the last object of an array has no comma after it.
                    self.endedBadly = true
                    throw LineFaults(messages: [form.sentence])
                }
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
            self.name("\(error)")
            self.badCount += 1
            self.endedBadly = self.endedBadly || self.isStrict
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

    /// Reports the last line, with a message.
    private func name(_ message: String) {
        self.say("\(self.reader.name):\(self.count): \(message)")
    }

    private mutating func warn(of line: PushLine) {
        if let warning = self.check.warning(of: line) {
            self.name(warning)
            self.refusedCount += 1
        }
        if !self.sawEmptyPayload, line.showsNothing {
            self.sawEmptyPayload = true
            self.name(
                "warning: the payload has neither 'aps' nor 'mdm', so the device shows nothing of it; this is said only once"
            )
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
