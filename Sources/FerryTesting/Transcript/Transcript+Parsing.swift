internal import FerryCore

extension Transcript {
    /// The longest line, in bytes. A line holds two payloads of 128 KiB in hexadecimal.
    public static let maximumLineLength = 1 << 20
    /// The largest number of lines.
    public static let maximumLineCount = 1 << 20
    /// The highest number of a connection.
    static let maximumConnection = 65_535

    /// Reads a transcript.
    ///
    /// - Parameter text: the whole file, UTF-8.
    /// - Throws: ``TranscriptError`` for the first invalid line.
    public init(parsing text: some Collection<UInt8>) throws(TranscriptError) {
        var parser = TranscriptParser()
        let lines = text.split(
            separator: UInt8(ascii: "\n"),
            maxSplits: Self.maximumLineCount,
            omittingEmptySubsequences: false
        )
        for line in lines { try parser.read(line) }
        self = try parser.finish()
    }

    /// Reads a transcript from a string.
    ///
    /// - Throws: ``TranscriptError`` for the first invalid line.
    public init(parsing text: String) throws(TranscriptError) {
        try self.init(parsing: Array(text.utf8))
    }

    /// The longest transcript in a file. A byte of a session takes two characters.
    private static var longestFile: Int { 256 << 20 }

    /// Reads a transcript from a file of at most 256 MiB. The whole file is read into memory.
    ///
    /// - Throws: a file error, or ``TranscriptError`` for the first invalid line.
    public init(contentsOfFile path: String) throws {
        try self.init(parsing: wholeFile(path, limit: Self.longestFile))
    }
}

/// Reads a transcript line by line.
private struct TranscriptParser {
    private enum Part { case version, headers, events }

    /// The progress of each side of a connection.
    private struct Progress {
        enum Output { case open, halfClosed, ended }
        var output: [Transcript.Side: Output] = [:]
    }

    private var part = Part.version
    private var line = 0
    private var service: Transcript.Service?
    private var headers: [Transcript.Header] = []
    private var events: [Transcript.Event] = []
    private var progress: [Int: Progress] = [:]

    mutating func read(_ bytes: some Collection<UInt8>) throws(TranscriptError) {
        self.line += 1
        guard self.line <= Transcript.maximumLineCount else {
            throw self.error("a transcript has at most 1,048,576 lines")
        }
        guard bytes.count <= Transcript.maximumLineLength else { throw self.error("a line has at most 1 MiB") }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw self.error("this is not UTF-8") }
        let (content, comment) = Self.split(text)
        if content.isEmpty { return }
        switch self.part {
        case .version:
            guard content == "ferry transcript 1" else { throw self.error("the first line is 'ferry transcript 1'") }
            self.part = .headers
        case .headers where content.first?.isLetter == true:
            try self.readHeader(content)
        case .headers, .events:
            self.part = .events
            try self.readEvent(content, comment)
        }
    }

    consuming func finish() throws(TranscriptError) -> Transcript {
        guard self.part != .version else {
            throw TranscriptError(line: 0, reason: "the first line is 'ferry transcript 1'")
        }
        guard let service else {
            throw TranscriptError(line: 0, reason: "a header 'service: gateway' or 'feedback' is missing")
        }
        return Transcript(service: service, headers: self.headers, events: self.events)
    }

    private static func split(_ line: String) -> (content: Substring, comment: String?) {
        let parts = line.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let comment = parts.count > 1 ? String(parts[1].trimmed) : nil
        return (parts.first?.trimmed ?? "", comment.flatMap { $0.isEmpty ? nil : $0 })
    }

    private mutating func readHeader(_ content: Substring) throws(TranscriptError) {
        guard let colon = content.firstIndex(of: ":") else { throw self.error("a header is 'name: value'") }
        let name = String(content[..<colon])
        let value = String(content[content.index(after: colon)...].trimmed)
        guard name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }) else {
            throw self.error("the name of a header has letters, digits and '-'")
        }
        guard name == "service" else { return self.headers.append(Transcript.Header(name, value)) }
        guard self.service == nil else { throw self.error("the service is named twice") }
        guard let service = Transcript.Service(rawValue: value) else {
            throw self.error("the service is 'gateway' or 'feedback'")
        }
        self.service = service
    }

    private mutating func readEvent(_ content: Substring, _ comment: String?) throws(TranscriptError) {
        let words = content.split(maxSplits: 3) { $0 == " " || $0 == "\t" }
        guard words.count >= 3 else { throw self.error("an event is a time, a direction and a kind") }
        guard let time = Duration(transcriptTime: words[0]) else {
            throw self.error("the time is seconds since the beginning, as in 12.345678")
        }
        if let last = self.events.last, time < last.time {
            throw self.error("the time is before that of the line above")
        }
        let (connection, sender) = try self.direction(words[1])
        let kind = try self.kind(words[2], words.count > 3 ? words[3] : "")
        try self.advance(connection, sender, kind)
        var event = Transcript.Event(time, sender, kind, connection: connection, comment: comment)
        event.line = self.line
        self.events.append(event)
    }

    private func direction(_ word: Substring) throws(TranscriptError) -> (connection: Int, sender: Transcript.Side) {
        let number = word.dropLast()
        guard let sender = word.last.flatMap(Transcript.Side.init), number.allSatisfy({ $0.isASCII && $0.isNumber }),
            let connection = number.isEmpty ? 1 : UInt16(number), connection > 0
        else {
            throw self.error("the direction is the number of the connection, 1 to 65535, and '>' or '<', as in 1>")
        }
        return (Int(connection), sender)
    }

    private func kind(_ word: Substring, _ rest: Substring) throws(TranscriptError) -> Transcript.Kind {
        if word == "bytes" {
            // Spaces may stand anywhere.
            let digits = rest.utf8.lazy.filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
            guard let bytes = [UInt8](hexadecimal: digits), !bytes.isEmpty else {
                throw self.error("behind 'bytes' stand pairs of hexadecimal digits")
            }
            return .bytes(bytes)
        }
        guard rest.isEmpty else {
            throw self.error("nothing stands behind the kind but a comment, which begins with '#'")
        }
        switch word {
        case "open": return .open
        case "half-close": return .halfClose
        case "end": return .end
        case "reset": return .reset
        default: throw self.error("the kind is 'open', 'bytes', 'half-close', 'end' or 'reset'")
        }
    }

    /// Checks that the event can follow the earlier events of its connection.
    private mutating func advance(
        _ connection: Int,
        _ sender: Transcript.Side,
        _ kind: Transcript.Kind
    ) throws(TranscriptError) {
        let known = self.progress[connection]
        var progress = known ?? Progress()
        let output = progress.output[sender] ?? .open
        guard output != .ended else { throw self.error("this side has ended connection \(connection) above") }
        switch kind {
        case .open:
            guard known == nil, sender == .client else {
                throw self.error("a client opens a connection, with its first line")
            }
        case .bytes, .halfClose:
            guard output == .open else { throw self.error("this side has half-closed connection \(connection) above") }
            if kind == .halfClose { progress.output[sender] = .halfClosed }
        case .end, .reset:
            progress.output[sender] = .ended
        }
        self.progress[connection] = progress
    }

    private func error(_ reason: String) -> TranscriptError { TranscriptError(line: self.line, reason: reason) }
}

extension Substring {
    fileprivate var trimmed: Substring {
        var text = self
        while text.last?.isWhitespace == true { text.removeLast() }
        return text.drop { $0.isWhitespace }
    }
}

extension Duration {
    /// Reads seconds with up to nine decimals, below 10^9.
    fileprivate init?(transcriptTime text: Substring) {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = parts.first, 1...9 ~= whole.utf8.count, let seconds = UInt64(whole) else { return nil }
        var nanoseconds: UInt64 = 0
        if parts.count > 1 {
            guard 1...9 ~= parts[1].utf8.count, parts[1].allSatisfy({ $0.isASCII && $0.isNumber }),
                let fraction = UInt64(parts[1] + String(repeating: "0", count: 9 - parts[1].utf8.count))
            else { return nil }
            nanoseconds = fraction
        }
        self = .seconds(seconds) + .nanoseconds(nanoseconds)
    }
}
