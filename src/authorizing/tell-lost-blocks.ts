import { listUntoldBlocks, type UntoldBlock } from '../storage/blocks.ts'
import type { Authorizing } from './authorizing.ts'
import { tellLostBlock } from './settle.ts'

const stepSize = 100

/**
 * Writes the events of blocks whose process was lost before it could; any number may do so at once.
 * @param stop ends it between two blocks.
 * @throws AggregateError of those that could not be written, after all the others are.
 */
export async function tellLostBlocks(
  authorizing: Pick<Authorizing, 'database'>,
  stop: AbortSignal = new AbortController().signal,
): Promise<void> {
  const faults: unknown[] = []
  let after: UntoldBlock | null = null
  do {
    const blocks: UntoldBlock[] = await listUntoldBlocks(authorizing.database, after, stepSize)
    for (const block of blocks) {
      if (stop.aborted) break
      await tellLostBlock(authorizing, block).catch((error: unknown) => faults.push(error))
    }
    // Full ones alone: what comes in meanwhile is for the next turn.
    after = blocks.length === stepSize ? (blocks.at(-1) ?? null) : null
  } while (after && !stop.aborted)
  if (faults.length > 0) {
    throw new AggregateError(faults, 'Some blocks could not be told.', { cause: faults[0] })
  }
}
