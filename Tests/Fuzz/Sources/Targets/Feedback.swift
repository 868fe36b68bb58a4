@testable import FerryBinary
import NIOCore

/// The property: a feedback list gives the same result in any pieces, and its tuples can be written again.
func fuzzFeedback(_ input: inout FuzzInput) {
    let (whole, pieces) = input.pieces()
    let result = read(pieces)
    require(read([whole]) == result)
    var written = ByteBuffer()
    for tuple in result.tuples { tuple.write(to: &written) }
    require(written.readableBytes + result.pending <= whole.readableBytes)
    if result.skipped == 0 {
        require(whole.readableBytesView.dropLast(result.pending).elementsEqual(written.readableBytesView))
    }
    require(read([written]) == (result.tuples, 0, 0))
}

private func read(_ pieces: [ByteBuffer]) -> (tuples: [FeedbackTuple], skipped: Int, pending: Int) {
    var decoder = FeedbackDecoder()
    var tuples: [FeedbackTuple] = []
    for piece in pieces {
        decoder.append(piece)
        while let tuple = decoder.next() { tuples.append(tuple) }
    }
    return (tuples, decoder.skipped, decoder.pendingBytes)
}
