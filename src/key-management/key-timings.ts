/** The times of a rotation. All follow from how often each process looks for new keys. */
export interface KeyTimings {
  /** Each process reads the keys so often. */
  readonly refreshMs: number
  /** A process that could not read them for so long refuses to answer. */
  readonly staleAfterMs: number
  /** A version is pending for so long: every process then knows it, or refuses. */
  readonly pendingMs: number
  /** After so long no request runs any more that began under an older state of the keys. */
  readonly settleMs: number
}

export const keyTimings = (refreshMs: number): KeyTimings => ({
  refreshMs,
  staleAfterMs: 10 * refreshMs,
  pendingMs: 15 * refreshMs,
  settleMs: 30 * refreshMs,
})
