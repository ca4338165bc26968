import {
  type ActPosition,
  listOperatorActs,
  newestAct,
  type OperatorActRow,
} from '../storage/operator-acts.ts'
import type { Administration } from './administration.ts'

export type { ActPosition }

/** What was done to products and clients, the newest first. */
export const listActs = (
  { database }: Administration,
  after: ActPosition | null,
  limit: number,
): Promise<OperatorActRow[]> => listOperatorActs(database, after ?? newestAct, limit)
