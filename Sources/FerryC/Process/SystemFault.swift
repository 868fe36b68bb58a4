/// What the system does not have left, as one sentence.
struct SystemFault: Error {
    var sentence: String

    init(_ sentence: String) { self.sentence = sentence }

    static let noDescriptors = SystemFault(
        "This process has too few file descriptors left: raise its limit (ulimit -n)."
    )
}
