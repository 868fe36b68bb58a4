internal import CFerry

/// The text of each error code: its meaning and the remedy. The texts are never freed, because a caller may keep them.
enum ErrorTexts {
    private static let texts: [Int64: ForeverText] = [
        FERRY_EHANDLE: "There is no such handle, or it was freed.",
        FERRY_EINVAL: "An argument is wrong, or the records are not framed as ferry.h says.",
        FERRY_EINTR: "A signal came.",
        FERRY_EFORKED: "The handle belongs to the parent process: open a provider in this one.",
        FERRY_ECLOSED: "The handle was closed, and takes nothing more.",
        FERRY_EOPTIONS: "The options are wrong: the message says which.",
        FERRY_ESYSTEM: "The system has no descriptor, thread or memory left.",
        FERRY_ETIME: "Nothing came in time: call again.",
        FERRY_EPEER: "The feedback list could not be read to its end: the report says why.",
    ].reduce(into: [:]) { $0[Int64($1.key)] = ForeverText($1.value) }

    static func text(of code: Int64) -> UnsafePointer<CChar>? { self.texts[code]?.pointer }
}
