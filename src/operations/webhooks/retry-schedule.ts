/** The longest wait before a retry, whatever the endpoint requests. */
export const longestWaitSeconds = 6 * 3_600
const givenUpAfterMs = 3 * 24 * 3_600_000

/**
 * Returns the wait after a number of failed attempts: 1 s, 2, 4, 8 …, at most 6 h, each ± 20 %.
 * @param chance from 0 to 1.
 */
export const backOffSeconds = (failures: number, chance: number): number =>
  Math.min(2 ** (failures - 1), longestWaitSeconds) * (0.8 + 0.4 * chance)

/**
 * Whether no retry follows: three days have passed since the first attempt at this address. All
 * three instants are from the clock that stops while deliveries are suspended.
 * @param urlSince when the endpoint got its address, or was enabled again.
 */
export const isGivenUp = (firstTriedAt: Date | null, urlSince: Date, now: Date): boolean =>
  firstTriedAt !== null &&
  now.getTime() - Math.max(firstTriedAt.getTime(), urlSince.getTime()) >= givenUpAfterMs
