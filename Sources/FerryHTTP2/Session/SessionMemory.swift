internal import CFerryNGHTTP2

/// The allocator of one session: blocks of eight sizes, cut from chunks and reused.
///
/// libnghttp2 allocates about a dozen small blocks for each request. The session keeps its memory until it ends, so its
/// size is that of its busiest moment. Belongs to the session's thread.
struct SessionMemory: ~Copyable {
    /// The bytes before each block, which hold the number of its size class. The block keeps malloc's alignment.
    private static let prefix = 16
    /// The size of the smallest class in bytes, prefix included. Each further class is twice as large.
    private static let smallest = 64
    private static let classes = 8
    private static let chunkSize = 64 << 10
    /// The class of blocks that the system allocates one by one.
    private static let large = 8

    private var free: InlineArray<8, UnsafeMutableRawPointer?> = .init(repeating: nil)
    private var chunks: [UnsafeMutableRawPointer] = []
    private var rest: UnsafeMutableRawPointer?
    private var restCount = 0

    deinit {
        for chunk in self.chunks { chunk.deallocate() }
    }

    /// Returns how many bytes a block of this class offers.
    private static func capacity(of sizeClass: Int) -> Int { (self.smallest << sizeClass) - self.prefix }

    mutating func allocate(_ size: Int) -> UnsafeMutableRawPointer? {
        let needed = size + Self.prefix
        guard needed <= Self.smallest << (Self.classes - 1) else { return Self.allocateLarge(size) }
        let sizeClass = needed <= Self.smallest ? 0 : Int.bitWidth - (needed - 1).leadingZeroBitCount - 6
        if let block = self.free[sizeClass] {
            self.free[sizeClass] = block.load(as: UnsafeMutableRawPointer?.self)
            return block
        }
        return self.cut(sizeClass)
    }

    private mutating func cut(_ sizeClass: Int) -> UnsafeMutableRawPointer {
        let size = Self.smallest << sizeClass
        if self.restCount < size {
            let chunk = UnsafeMutableRawPointer.allocate(byteCount: Self.chunkSize, alignment: Self.prefix)
            self.chunks.append(chunk)
            self.rest = chunk
            self.restCount = Self.chunkSize
        }
        guard let start = self.rest else { return UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16) }
        self.rest = start + size
        self.restCount -= size
        start.storeBytes(of: sizeClass, as: Int.self)
        return start + Self.prefix
    }

    private static func allocateLarge(_ size: Int) -> UnsafeMutableRawPointer? {
        guard size <= Int.max - self.prefix else { return nil }
        let block = UnsafeMutableRawPointer.allocate(byteCount: size + self.prefix, alignment: self.prefix)
        block.storeBytes(of: self.large, as: Int.self)
        block.storeBytes(of: size, toByteOffset: MemoryLayout<Int>.size, as: Int.self)
        return block + self.prefix
    }

    mutating func release(_ block: UnsafeMutableRawPointer?) {
        guard let block else { return }
        let sizeClass = (block - Self.prefix).load(as: Int.self)
        guard sizeClass < Self.classes else { return (block - Self.prefix).deallocate() }
        block.storeBytes(of: self.free[sizeClass], as: UnsafeMutableRawPointer?.self)
        self.free[sizeClass] = block
    }

    mutating func reallocate(_ block: UnsafeMutableRawPointer?, _ size: Int) -> UnsafeMutableRawPointer? {
        guard let block else { return self.allocate(size) }
        let start = block - Self.prefix
        let sizeClass = start.load(as: Int.self)
        let old =
            sizeClass < Self.classes
            ? Self.capacity(of: sizeClass) : start.load(fromByteOffset: MemoryLayout<Int>.size, as: Int.self)
        guard size > old else { return block }
        guard let moved = self.allocate(size) else { return nil }
        moved.copyMemory(from: block, byteCount: old)
        self.release(block)
        return moved
    }

    /// Returns the functions that libnghttp2 calls. It copies the table; `memory` must outlive the session.
    static func table(_ memory: UnsafeMutablePointer<SessionMemory>) -> nghttp2_mem {
        nghttp2_mem(
            mem_user_data: memory,
            malloc: { size, memory in SessionMemory.of(memory)?.pointee.allocate(size) },
            free: { block, memory in SessionMemory.of(memory)?.pointee.release(block) },
            calloc: { count, size, memory in
                let (total, isTooLarge) = count.multipliedReportingOverflow(by: size)
                guard !isTooLarge, let block = SessionMemory.of(memory)?.pointee.allocate(total) else { return nil }
                block.initializeMemory(as: UInt8.self, repeating: 0, count: total)
                return block
            },
            realloc: { block, size, memory in SessionMemory.of(memory)?.pointee.reallocate(block, size) }
        )
    }

    private static func of(_ memory: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<SessionMemory>? {
        memory?.assumingMemoryBound(to: SessionMemory.self)
    }
}
