internal import FerryCore

/// Parses lines such as `{"token":"00ff…","payload":{…},"ref":7}` without an allocation for each line.
///
/// For one task at a time.
final class LineParser {
    /// The known members of a line.
    enum Member: UInt16, CaseIterable {
        case token, payload, topic, pushType, priority, expiration, collapseID, apnsID, ref

        var name: StaticString {
            switch self {
            case .token: "token"
            case .payload: "payload"
            case .topic: "topic"
            case .pushType: "pushType"
            case .priority: "priority"
            case .expiration: "expiration"
            case .collapseID: "collapseId"
            case .apnsID: "apnsId"
            case .ref: "ref"
            }
        }

        init?(_ name: UnsafeBufferPointer<UInt8>) {
            let candidates: (Member, Member)
            switch name.count {
            case 3: candidates = (.ref, .ref)
            case 5: candidates = (.token, .topic)
            case 6: candidates = (.apnsID, .apnsID)
            case 7: candidates = (.payload, .payload)
            case 8: candidates = (.pushType, .priority)
            case 10: candidates = (.expiration, .collapseID)
            default: return nil
            }
            if candidates.0.isNamed(name) {
                self = candidates.0
            } else if candidates.1.isNamed(name) {
                self = candidates.1
            } else {
                return nil
            }
        }

        private func isNamed(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
            let own = self.name
            for index in 0..<name.count where own.utf8Start[index] != name[index] { return false }
            return true
        }
    }

    private typealias Bytes = UnsafeBufferPointer<UInt8>

    /// The lowest expiration, 2001-09-09, long before push notifications. A lower number means seconds from now.
    private static let firstExpiration = 1_000_000_000

    /// The topic of lines without one.
    private let topic: UnsafeMutableBufferPointer<UInt8>
    /// The payload of lines that are device tokens. Nil: a line is an object.
    private let payload: UnsafeMutableBufferPointer<UInt8>?
    private let token = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: DeviceToken.maximumLength)
    /// Strings of the line with resolved escapes. Freed before the next line.
    private var resolved: [UnsafeMutableBufferPointer<UInt8>] = []
    /// The unknown members that were found and not reported yet.
    private(set) var unknownMembers: [UnknownMember] = []
    private var knownUnknownMembers: Set<String> = []
    private static let unknownLimit = 16
    /// A longer name is not quoted, because it may be a misplaced device token.
    private static let nameLimit = 32

    /// - Parameters:
    ///   - topic: the topic of lines without one.
    ///   - payload: the payload of lines that are device tokens. Nil: a line is an object.
    init(topic: String? = nil, payload: [UInt8]? = nil) {
        let bytes = Array((topic ?? "").utf8)
        self.topic = .allocate(capacity: bytes.count)
        _ = self.topic.initialize(from: bytes)
        self.payload = payload.map { payload in
            let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: payload.count)
            _ = copy.initialize(from: payload)
            return copy
        }
    }

    deinit {
        self.topic.deallocate()
        self.payload?.deallocate()
        self.token.deallocate()
        self.forget()
    }

    /// Parses a line without its line break.
    func parse(_ line: UnsafeBufferPointer<UInt8>) throws(LineFaults) -> PushLine {
        if !self.resolved.isEmpty { self.forget() }
        var result = PushLine(
            hex: Bytes(start: nil, count: 0),
            token: Bytes(start: nil, count: 0),
            payload: Bytes(start: nil, count: 0),
            topic: Bytes(self.topic),
            collapseID: Bytes(start: nil, count: 0)
        )
        var faults = LineFaults()
        if let payload {
            result.payload = Bytes(payload)
            self.readToken(line, into: &result, &faults)
            guard faults.messages.isEmpty else { throw faults }
            return result
        }
        var seen: UInt16 = 0
        do throws(JSONFault) {
            var members = JSONMembers(line)
            while let next = try members.next() {
                guard let member = Member(self.text(next.key, line)) else {
                    self.note(unknown: next.key, line)
                    continue
                }
                let bit: UInt16 = 1 << member.rawValue
                if seen & bit != 0 { faults.add("'\(member.name)' stands there twice") }
                seen |= bit
                self.read(member, next.value, line, into: &result, &faults)
            }
        } catch {
            // The earlier faults are dropped, because the line is not a JSON object.
            throw LineFaults(messages: ["not a line of JSON: \(error)"])
        }
        if seen & 1 << Member.token.rawValue == 0 { faults.add("there is no 'token'") }
        if seen & 1 << Member.payload.rawValue == 0 {
            let isAtTop = self.unknownMembers.contains { $0.quoted == "\"aps\"" }
            faults.add("there is no 'payload'" + (isAtTop ? "; 'aps' stands in it: \"payload\":{\"aps\":{…}}" : ""))
        }
        guard faults.messages.isEmpty else { throw faults }
        return result
    }

    /// Returns the unknown members that were not reported yet. Each name is returned once.
    func takeUnknownMembers() -> [UnknownMember] {
        defer { self.unknownMembers = [] }
        return self.unknownMembers
    }

    private func read(
        _ member: Member,
        _ value: JSONValue,
        _ line: Bytes,
        into result: inout PushLine,
        _ faults: inout LineFaults
    ) {
        switch member {
        case .ref:
            result.ref = value.bytes(in: line)
        case .payload:
            self.readPayload(value, line, into: &result, &faults)
        case .token:
            guard let text = value.text else { return faults.add("'token' is not a string") }
            self.readToken(self.text(text, line), into: &result, &faults)
        default:
            // Null means the same as a missing member, for members that may be missing.
            if value.kind != .null { self.readOption(member, value, line, into: &result, &faults) }
        }
    }

    private func readPayload(
        _ value: JSONValue,
        _ line: Bytes,
        into result: inout PushLine,
        _ faults: inout LineFaults
    ) {
        guard value.kind == .object else {
            let advice = value.kind == .string ? ": write it without quotes around it" : ""
            return faults.add("'payload' is not a JSON object\(advice)")
        }
        result.payload = value.bytes(in: line)
        // The scanner has checked the syntax, so only the length can be wrong.
        guard result.payload.count > PushNotification.maximumPayloadLength else { return }
        faults.add(PushNotification.faults(payload: result.payload))
    }

    private func readToken(_ text: Bytes, into result: inout PushLine, _ faults: inout LineFaults) {
        if self.decode(text, into: &result) { return }
        // Tokens with white space or brackets are few, so they may cost an allocation.
        let hex = self.digits(of: text)
        if hex.count == text.count || !self.decode(hex, into: &result) { faults.add(DeviceToken.faults(hex: hex)) }
    }

    private func decode(_ hex: Bytes, into result: inout PushLine) -> Bool {
        result.hex = hex
        let length = hex.count / 2
        guard 1...self.token.count ~= length, DeviceToken.decode(hex: hex, into: self.token) else { return false }
        result.token = Bytes(start: self.token.baseAddress, count: length)
        return true
    }

    private func digits(of text: Bytes) -> Bytes {
        guard let digits = DeviceToken.digits(text) else { return text }
        let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: digits.count)
        _ = copy.initialize(from: digits)
        self.resolved.append(copy)
        return Bytes(copy)
    }

    // MARK: Strings

    /// The bytes of a string, with resolved escapes.
    private func text(_ text: JSONText, _ line: Bytes) -> Bytes {
        guard !text.isPlain else { return text.bytes(in: line) }
        // A string with half a surrogate pair stays as it is. It cannot equal any string that is searched for.
        guard let bytes = try? text.decodedBytes(in: line) else { return text.bytes(in: line) }
        let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
        _ = copy.initialize(from: bytes)
        self.resolved.append(copy)
        return Bytes(copy)
    }

    private func forget() {
        for text in self.resolved { text.deallocate() }
        self.resolved.removeAll()
    }

    private func note(unknown key: JSONText, _ line: Bytes) {
        guard self.knownUnknownMembers.count < Self.unknownLimit else { return }
        let text = self.text(key, line)
        let name = String(decoding: text.prefix(Self.nameLimit + 1), as: UTF8.self)
        guard self.knownUnknownMembers.insert(name).inserted else { return }
        self.unknownMembers.append(
            text.count <= Self.nameLimit
                ? UnknownMember(name) : UnknownMember(quoted: "with a name of \(text.count) bytes")
        )
    }
}

// MARK: - Optional members

extension LineParser {
    private func readOption(
        _ member: Member,
        _ value: JSONValue,
        _ line: UnsafeBufferPointer<UInt8>,
        into result: inout PushLine,
        _ faults: inout LineFaults
    ) {
        switch member {
        case .priority:
            guard let number = value.integer(in: line) else { return faults.add("'priority' is not a whole number") }
            result.priority = UInt8(exactly: number).flatMap(Priority.init(rawValue:))
            if result.priority == nil { faults.add("the priority \(number) is none of 10, 5 and 1") }
        case .expiration:
            guard let number = value.integer(in: line) else { return faults.add("'expiration' is not a whole number") }
            guard number <= 0 || number >= Self.firstExpiration else {
                return faults.add(
                    "the expiration \(number) is a time before 2001: write seconds since 1970, not from now; 0 is one try"
                )
            }
            do throws(PushValidationError) {
                result.expiration = try Expiration(validating: number)
            } catch {
                faults.add(error.faults)
            }
        default:
            guard let text = value.text else { return faults.add("'\(member.name)' is not a string") }
            self.readOption(member, self.text(text, line), into: &result, &faults)
        }
    }

    private func readOption(
        _ member: Member,
        _ text: UnsafeBufferPointer<UInt8>,
        into result: inout PushLine,
        _ faults: inout LineFaults
    ) {
        switch member {
        case .topic:
            result.topic = text
            let isGood = 1...PushNotification.maximumTopicLength ~= text.count && text.allSatisfy { 0x21...0x7e ~= $0 }
            if !isGood { faults.add(PushNotification.faults(topic: String(decoding: text, as: UTF8.self))) }
        case .collapseID:
            result.collapseID = text
            let isGood =
                1...PushNotification.maximumCollapseIDLength ~= text.count
                && text.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
            if !isGood { faults.add(PushNotification.faults(collapseID: String(decoding: text, as: UTF8.self))) }
        case .apnsID:
            result.apnsID = APNSID.parse(text)
            if result.apnsID == nil { faults.add("the apns-id is not a UUID of the form 8-4-4-4-12") }
        case .pushType:
            result.pushType = PushType(rawValue: String(decoding: text, as: UTF8.self))
            if result.pushType == nil { faults.add("there is no such push type") }
        default:
            break
        }
    }
}
