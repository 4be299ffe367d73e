/// How many sessions there are, for those who look whether any is left behind.
package enum SessionCensus {
    /// So many live at the moment, in the whole process.
    package static var liveCount: Int { TLSSession.liveCount }
}
