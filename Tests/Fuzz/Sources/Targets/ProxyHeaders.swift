@testable import FerryServer
import NIOCore

/// The property: the first bytes of a proxy give the same header or fault in any pieces, and leave the same bytes. A
/// header that is not complete stays as it is, and is within its bound.
func fuzzProxyHeaders(_ input: inout FuzzInput) {
    let (whole, pieces) = input.pieces()
    let (result, rest) = read([whole])
    require(read(pieces) == (result, rest))
    guard case .success(nil) = result else { return }
    require(rest == whole)
    require(rest.readableBytes < ProxyHeaderV2.limit)
}

/// Returns the header or the fault, and the bytes that are left. Behind a fault, they have no meaning.
private func read(_ pieces: [ByteBuffer]) -> (Result<ProxyHeader?, ProxyHeaderFault>, ByteBuffer) {
    var bytes = ByteBuffer()
    var header: ProxyHeader?
    for piece in pieces {
        bytes.writeImmutableBuffer(piece)
        guard header == nil else { continue }
        do throws(ProxyHeaderFault) {
            header = try ProxyHeader.read(&bytes)
        } catch {
            return (.failure(error), ByteBuffer())
        }
    }
    return (.success(header), bytes)
}
