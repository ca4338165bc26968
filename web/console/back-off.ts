/** The maximum wait between two requests of an open, unchanged page. */
const waitMostMs = 60_000

/**
 * Returns the wait after an answer without changes: half as long again as before, at most a minute.
 */
export const longerWait = (waitMs: number): number => Math.min(waitMs * 1.5, waitMostMs)
