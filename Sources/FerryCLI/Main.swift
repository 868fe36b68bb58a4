internal import FerryCommand

@main
enum Main {
    static func main() async { await RootCommand.main() }
}
