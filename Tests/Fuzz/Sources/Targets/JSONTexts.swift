@testable import FerryCore
import Foundation

/// The property: the scanner never reads past a text, and its ways of reading and Foundation's parser agree.
func fuzzJSONTexts(_ input: inout FuzzInput) {
    // A copy, so that AddressSanitizer finds reads past the end.
    let text = Array(input.rest)
    text.withUnsafeBufferPointer { bytes in
        let isValid = JSONScanner.fault(in: bytes) == nil
        if let fault = JSONScanner.fault(in: bytes) { require(0...bytes.count ~= fault.offset) }
        require(walk(bytes) == JSONScanner.isObject(bytes))
        require(!JSONScanner.isObject(bytes) || isValid)
        guard !isBeyondOracle(bytes) else { return }
        let object = try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
        require((object != nil) == isValid)
    }
    if let notification = try? PushNotification(json: text) { require(notification.payload == text) }
}

/// Returns whether all members of an object can be read. Reads each member in every way.
private func walk(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    do throws(JSONFault) {
        var members = JSONMembers(bytes)
        while let member = try members.next() {
            require(JSONScanner.fault(in: member.value.bytes(in: bytes)) == nil)
            require((member.value.text != nil) == (member.value.kind == .string))
            require((member.value.bool(in: bytes) != nil) == (member.value.kind == .bool))
            if let number = member.value.integer(in: bytes) {
                let digits = String(decoding: member.value.bytes(in: bytes), as: UTF8.self)
                require(Int64(digits) == number)
            }
            for text in [member.key, member.value.text].compactMap(\.self) {
                guard let string = try? text.decoded(in: bytes) else { continue }
                require(string.utf8.count <= text.range.count)
            }
            if member.value.kind == .object { require(walk(member.value.bytes(in: bytes))) }
        }
        return true
    } catch {
        return false
    }
}

/// Returns whether Foundation may differ from the RFC. Foundation guesses UTF-16 and UTF-32, accepts a byte order mark
/// and a comma before a closing bracket, and refuses numbers beyond the range of Double and halves of surrogate pairs.
private func isBeyondOracle(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    if bytes.contains(0) || bytes.first ?? 0 >= 0x80 { return true }
    var before: (UInt8, UInt8) = (0, 0)
    for byte in bytes where ![0x20, 0x09, 0x0a, 0x0d].contains(byte) {
        switch (before.0, before.1, byte | 0x20) {
        case (_, UInt8(ascii: ","), 0x7d), (UInt8(ascii: "\\"), UInt8(ascii: "u"), UInt8(ascii: "d")): return true
        case (_, UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "e")): return true
        default: before = (before.1, byte)
        }
    }
    return false
}
