@testable import FerryCore
@testable import FerryHTTP2
import Foundation

/// The property: for any response, the decoder gives an answer within its bounds, Foundation's parser finds the same
/// reason, and the body in a GOAWAY gives the same reason. The input is a text: lines `name: value`, an empty line, the
/// body.
func fuzzAnswers(_ input: inout FuzzInput) {
    var lines = input.rest[...]
    var decoder = AnswerDecoder()
    var (status, id): (HTTPStatus?, APNSID?) = (nil, nil)
    while !lines.isEmpty {
        let line = lines.prefix { $0 != UInt8(ascii: "\n") }
        lines = lines.dropFirst(line.count + 1)
        if line.isEmpty { break }
        // Copies, so that AddressSanitizer finds reads past the ends.
        let (name, value) = split(line)
        name.withUnsafeBufferPointer { name in value.withUnsafeBufferPointer { decoder.field(name, $0) } }
        switch String(decoding: name, as: UTF8.self) {
        case ":status": status = value.withUnsafeBufferPointer { HTTPStatus(digits: $0) }
        case "apns-id": id = APNSID.parse(value)
        default: break
        }
    }
    Array(lines).withUnsafeBufferPointer { body in
        let answer = decoder.answer(body: body)
        require(answer?.status == status && (answer == nil || answer?.apnsID == id))
        if let answer { check(answer, body) }
        check(AnswerBody(body), body)
        let errorCode = HTTP2ErrorCode(rawValue: UInt32(input.rest.count))
        let goAway = GoAway(errorCode: errorCode, debugData: body)
        require(goAway.reason == AnswerBody(body).reason && !goAway.description.isEmpty)
    }
}

/// Returns the name and the value of a field. A name may begin with a colon.
private func split(_ line: Slice<UnsafeBufferPointer<UInt8>>) -> (name: [UInt8], value: [UInt8]) {
    let name = line.prefix(1) + line.dropFirst().prefix { $0 != UInt8(ascii: ":") }
    return (Array(name), Array(line.dropFirst(name.count + 1).drop { $0 == UInt8(ascii: " ") }))
}

private func check(_ answer: PushAnswer, _ body: UnsafeBufferPointer<UInt8>) {
    require(100...999 ~= answer.status.rawValue)
    require((answer.rejection == nil) == (answer.status == .ok))
    require((answer.retryRule == nil) == (answer.status == .ok))
    require(answer.timestamp == nil || answer.status == .gone)
    require(answer.uniqueID?.utf8.count ?? 0 <= AnswerDecoder.maximumUniqueIDLength)
    require(answer.status != .ok || answer.reason == nil && !answer.countsAgainstConnection)
    require(answer.status == .ok || answer.reason == AnswerBody(body).reason)
}

private func check(_ told: AnswerBody, _ body: UnsafeBufferPointer<UInt8>) {
    guard told.reason != nil || told.timestamp != nil else { return }
    require(body.count <= AnswerBody.maximumLength && JSONScanner.isObject(body))
    require(told.timestamp ?? 0 >= 0)
    guard let reason = told.reason?.rawValue else { return }
    require(1...AnswerBody.maximumReasonLength ~= reason.utf8.count && reason.utf8.allSatisfy { 0x20...0x7e ~= $0 })
    // Foundation refuses some valid texts, and may choose either of two members with the same name. Compare only if it
    // has parsed the text and there is one member.
    let object = try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any]
    if let object, let word = object["reason"] as? String, members(body) == 1 { require(word == reason) }
}

/// Returns the number of members with the name "reason".
private func members(_ body: UnsafeBufferPointer<UInt8>) -> Int {
    var members = JSONMembers(body)
    var count = 0
    while let member = try? members.next() {
        if member.key.equals("reason", in: body) { count += 1 }
    }
    return count
}
