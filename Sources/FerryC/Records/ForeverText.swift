internal import FerryPlatform

/// A C string that is never freed, because a caller may keep it.
struct ForeverText: @unchecked Sendable {
    // Unchecked, because no code writes to the text.
    let pointer: UnsafePointer<CChar>?

    init(_ text: String) { self.pointer = strdup(text).map { UnsafePointer($0) } }
}
