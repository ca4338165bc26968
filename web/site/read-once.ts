/** Reads when somebody first asks, once for all who ask; a read that fails is not kept. */
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
