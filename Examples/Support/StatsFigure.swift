internal import Towline

/// A number of the statistics page, or one at each of several shares.
struct StatsFigure {
    private let name: String
    private let values: [(share: String?, text: String)]

    /// A count; the name of one that only grows ends with `_total`.
    init(_ name: String, _ count: Int) {
        self.name = name
        values = [(nil, "\(count)")]
    }

    /// A time in seconds.
    init(_ name: String, _ time: Duration) {
        self.name = name
        values = [(nil, "\(time / .seconds(1))")]
    }

    /// Times in seconds, each rounded up to a power of two nanoseconds.
    init(_ name: String, _ histogram: TimeHistogram) {
        self.name = name
        values = [0.5, 0.99, 1].map { ("\($0)", "\(histogram.percentile($0) / .seconds(1))") }
    }

    private var isSummary: Bool { values.count > 1 }

    /// The lines of the text exposition format.
    var exposition: String {
        let kind = isSummary ? "summary" : name.hasSuffix("_total") ? "counter" : "gauge"
        var text = "# TYPE \(name) \(kind)\n"
        for (share, value) in values {
            let label = share.map { "{quantile=\"\($0)\"}" } ?? ""
            text += "\(name)\(label) \(value)\n"
        }
        return text
    }

    /// The member of a JSON object.
    var member: String {
        let fields = values.map { share, text in share.map { "\"\($0)\": \(text)" } ?? text }
        let value = fields.joined(separator: ", ")
        return "\"\(name)\": \(isSummary ? "{\(value)}" : value)"
    }

    /// What a reactor has counted.
    static func all(of figures: ReactorFigures) -> [StatsFigure] {
        [
            StatsFigure("towline_turns_total", figures.turns),
            StatsFigure("towline_events_total", figures.events),
            StatsFigure("towline_waits_total", figures.waits),
            StatsFigure("towline_empty_waits_total", figures.emptyWaits),
            StatsFigure("towline_receives_total", figures.receives),
            StatsFigure("towline_received_bytes_total", figures.receivedBytes),
            StatsFigure("towline_sends_total", figures.sends),
            StatsFigure("towline_sent_bytes_total", figures.sentBytes),
            StatsFigure("towline_short_sends_total", figures.shortSends),
            StatsFigure("towline_open_sockets", figures.openSockets),
            StatsFigure("towline_accepted_total", figures.accepted),
            StatsFigure("towline_connected_total", figures.connected),
            StatsFigure("towline_closed_total", figures.closed),
            StatsFigure("towline_accept_pauses_total", figures.acceptPauses),
            StatsFigure("towline_timers", figures.timers),
            StatsFigure("towline_timers_fired_total", figures.timersFired),
            StatsFigure("towline_timer_lateness_seconds", figures.timerLateness),
            StatsFigure("towline_turn_seconds", figures.turnTime),
            StatsFigure("towline_jobs_run_total", figures.jobsRun),
        ]
    }
}
