import { type KeyActRow, listKeyActs } from '../storage/key-acts.ts'
import { type ActPosition, newestAct } from '../storage/operator-acts.ts'
import type { KeyManagement } from './key-management.ts'

/** What was done to keys, the newest first. */
export const listActs = (
  { database }: KeyManagement,
  after: ActPosition | null,
  limit: number,
): Promise<KeyActRow[]> => listKeyActs(database, after ?? newestAct, limit)
