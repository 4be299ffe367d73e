/// One URL with all that belongs to it.
struct TransferPlan: Sendable {
    var settings: Settings
    /// The URL as it was written, its places filled in.
    var url: String
    /// The file that is sent; `-` is standard input.
    var upload: String?
    /// Where the body goes; `nil`, to standard output.
    var output: OutputChoice?
    /// Which URL of the command it is, from 0.
    var number: Int

    /// All that a group of options asks for.
    ///
    /// - Parameters:
    ///   - settings: The group.
    ///   - first: The number of the first URL.
    /// - Returns: One plan for each URL.
    /// - Throws: ``UsageError`` for a group without a URL, and for one whose places make no sense.
    static func all(of settings: Settings, from first: Int) throws(UsageError) -> [TransferPlan] {
        guard !settings.urls.isEmpty else { throw UsageError("no URL specified") }
        try check(settings)
        var plans: [TransferPlan] = []
        for (index, text) in settings.urls.enumerated() {
            let uploads = try places(of: settings, index)
            let matches =
                settings.globsOff
                ? [URLGlob.Match(url: text, values: [])] : try URLGlob(text).matches
            for upload in uploads {
                for match in matches {
                    plans.append(
                        TransferPlan(
                            settings: settings,
                            url: match.url,
                            upload: upload,
                            output: output(of: settings, index, match.values),
                            number: first + plans.count
                        )
                    )
                }
            }
        }
        return plans
    }

    private static func places(of settings: Settings, _ index: Int) throws(UsageError) -> [String?]
    {
        guard index < settings.uploads.count else { return [nil] }
        let text = settings.uploads[index]
        guard !settings.globsOff, !text.isEmpty else { return [text.isEmpty ? nil : text] }
        return try URLGlob(text).matches.map(\.url)
    }

    private static func output(
        of settings: Settings,
        _ index: Int,
        _ values: [String]
    ) -> OutputChoice? {
        guard index < settings.outputs.count else {
            return settings.namesAllRemotely || settings.savesByType ? .remoteName : nil
        }
        switch settings.outputs[index] {
        case .remoteName: return .remoteName
        case .file(let name): return .file(URLGlob.fill(name, with: values))
        }
    }

    private static func check(_ settings: Settings) throws(UsageError) {
        let hasData = settings.data != nil && !settings.usesGet
        let kinds = [
            settings.isHead, hasData, !settings.form.isEmpty, !settings.uploads.isEmpty,
        ]
        guard kinds.filter({ $0 }).count < 2 else {
            throw UsageError("You can only select one HTTP request method!")
        }
        if settings.continueAt != nil, settings.range != nil {
            throw UsageError("--continue-at and --range are mutually exclusive")
        }
        if settings.continueAt != nil, settings.removesOnError {
            throw UsageError("--continue-at and --remove-on-error are mutually exclusive")
        }
    }
}
