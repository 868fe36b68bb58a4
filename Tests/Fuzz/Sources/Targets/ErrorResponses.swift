@testable import FerryBinary
import NIOCore

/// The property: a stream of error responses gives the same result in any pieces, and the responses can be written
/// again.
func fuzzErrorResponses(_ input: inout FuzzInput) {
    let (whole, pieces) = input.pieces()
    let (responses, written, end) = read(pieces)
    require(read([whole]) == (responses, written, end))
    require(written.elementsEqual(whole.readableBytesView.prefix(written.count)))
    let rest = whole.readableBytes - written.count
    switch end {
    case .notAResponse(let byte):
        require(whole.getInteger(at: whole.readerIndex + written.count) == byte && byte != ErrorResponse.command)
    case .needMore: require(rest < ErrorResponse.length)
    case .response: fatalError("nothing ends with a response")
    }
}

/// Returns the responses, their bytes when they are written again, and the step after the last.
private func read(_ pieces: [ByteBuffer]) -> ([ErrorResponse], [UInt8], ErrorResponseDecoder.Step) {
    var decoder = ErrorResponseDecoder()
    var responses: [ErrorResponse] = []
    var written: [UInt8] = []
    for var piece in pieces {
        decoding: while true {
            switch decoder.next(in: &piece) {
            case .needMore:
                require(piece.readableBytes == 0)
                break decoding
            case .response(let response):
                var buffer = ByteBuffer()
                response.write(to: &buffer)
                require(response.bytes.elementsEqual(buffer.readableBytesView))
                responses.append(response)
                written += response.bytes
            case let end:
                return (responses, written, end)
            }
        }
    }
    return (responses, written, .needMore)
}
