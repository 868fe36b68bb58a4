/// One sentence about a resource that the system lacks.
struct SystemFault: Error {
    var sentence: String

    init(_ sentence: String) { self.sentence = sentence }

    static let noThreads = SystemFault("The system has too few threads left for this user (ulimit -u).")
    static let manyEndings = SystemFault(
        "256 handles that were freed still send what they took, for the time of 'atExit': open one handle for many notifications."
    )
    static let noDescriptors = SystemFault(
        "This process has too few file descriptors left: raise its limit (ulimit -n)."
    )
}
