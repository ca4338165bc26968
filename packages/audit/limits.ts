/**
 * The most bytes of each file of a log, by the beginning of its path: what is longer was not
 * written by an export.
 */
const limits: readonly (readonly [beginning: string, mostBytes: number])[] = [
  ['keys', 1_048_576],
  // A note with a hundred signatures by ML-DSA-44 takes two thirds.
  ['checkpoint', 524_288],
  ['checkpoints.jsonl', 16_777_216],
  // 256 entries of 33 bytes, each behind its length, take a quarter.
  ['tile/entries/', 32_768],
  // 256 hashes take a half.
  ['tile/', 16_384],
  // What 256 entries say.
  ['openings/', 16_777_216],
]

/**
 * The most bytes that a file of an exported or published log may have. Who reads a log for the
 * verifier reads no more of a file than that, and treats a longer one as a file that cannot be
 * read.
 * @param path as the verifier asks for it: `tile/0/000`, `logs/3/checkpoint`
 */
export function findMostBytes(path: string): number {
  const own = path.replace(/^logs\/[0-9]+\//, '')
  const limit = limits.find(([beginning]) =>
    beginning.endsWith('/') ? own.startsWith(beginning) : own === beginning,
  )
  return limit?.[1] ?? 0
}
