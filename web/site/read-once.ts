/**
 * Creates a function that reads at its first call and returns the same result to every caller; a
 * failed read is not kept.
 */
export function readOnce<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let kept: Promise<Value> | null = null
  return () => {
    kept ??= read().catch((error: unknown) => {
      kept = null
      throw error
    })
    return kept
  }
}
