/** The longest wait between two requests of a page that is open and unchanged. */
const waitMostMs = 60_000

/**
 * How long a page waits after an answer that had nothing new: half as long again as before, and
 * never over a minute.
 */
export const longerWait = (waitMs: number): number => Math.min(waitMs * 1.5, waitMostMs)
