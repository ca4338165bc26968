import { listUntoldBlocks } from '../storage/blocks.ts'
import type { Authorizing } from './authorizing.ts'
import { tellLostBlock } from './settle.ts'

const stepSize = 100

/** Writes the events of blocks whose process was lost before it could; any number may do so at once. */
export async function tellLostBlocks(authorizing: Pick<Authorizing, 'database'>): Promise<void> {
  const blocks = await listUntoldBlocks(authorizing.database, stepSize)
  for (const block of blocks) await tellLostBlock(authorizing, block)
}
