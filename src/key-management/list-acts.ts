import { type KeyActRow, listKeyActs } from '../storage/key-acts.ts'
import type { KeyManagement } from './key-management.ts'

const listedMax = 100

/** What was done to keys lately, the newest first. */
export const listActs = ({ database }: KeyManagement): Promise<KeyActRow[]> =>
  listKeyActs(database, listedMax)
