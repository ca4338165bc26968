/**
 * How Node starts a program that lives for seconds: it compiles the embedded PostgreSQL once,
 * quickly, and not a second time to run faster.
 */
export const shortLived = ['--liftoff-only'] as const
