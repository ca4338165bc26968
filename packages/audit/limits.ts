/**
 * The maximum size of each file of a log, by the beginning of its path: an export writes no longer
 * file.
 */
const limits: readonly (readonly [beginning: string, mostBytes: number])[] = [
  ['keys', 1_048_576],
  // A note with a hundred ML-DSA-44 signatures has two thirds of this.
  ['checkpoint', 524_288],
  ['checkpoints.jsonl', 16_777_216],
  // 256 entries of 33 bytes with their lengths have a quarter of this.
  ['tile/entries/', 32_768],
  // 256 hashes have half of this.
  ['tile/', 16_384],
  // The texts of 256 entries.
  ['openings/', 16_777_216],
]

/**
 * Returns the maximum size of a file of an exported or published log. The verifier's reader reads
 * no more of a file and treats a longer one as unreadable.
 * @param path as the verifier requests it: `tile/0/000`, `logs/3/checkpoint`
 */
export function findMostBytes(path: string): number {
  const own = path.replace(/^logs\/[0-9]+\//, '')
  const limit = limits.find(([beginning]) =>
    beginning.endsWith('/') ? own.startsWith(beginning) : own === beginning,
  )
  return limit?.[1] ?? 0
}
