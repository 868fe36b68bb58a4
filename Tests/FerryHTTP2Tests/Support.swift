import FerryCore
import FerryHTTP2

/// Calls `body` with the bytes of `text` in a separate allocation, so that AddressSanitizer sees the end.
func withBytes<R>(_ text: String, _ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
    Array(text.utf8).withUnsafeBufferPointer(body)
}

/// Returns the answer of a response with these fields and this body.
func decode(_ fields: [(String, String)], body: String = "") -> PushAnswer? {
    decode(fields, body: Array(body.utf8))
}

func decode(_ fields: [(String, String)], body: [UInt8]) -> PushAnswer? {
    var decoder = AnswerDecoder()
    for (name, value) in fields {
        withBytes(name) { name in withBytes(value) { value in decoder.field(name, value) } }
    }
    return body.withUnsafeBufferPointer { decoder.answer(body: $0) }
}
