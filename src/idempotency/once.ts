import { Problem } from '../errors.ts'
import type { Hsm } from '../hsm/hsm.ts'
import type { Connection, Database } from '../storage/database.ts'
import { storeAnswer } from '../storage/idempotency.ts'
import {
  type Answer,
  claimKey,
  findRemembered,
  keyedRequest,
  type RepeatableRequest,
  replayAnswer,
  sealAnswer,
} from './remembered.ts'

/**
 * Does the work in one transaction, and once: with an idempotency key, the work, its events and the
 * record of the key commit together, and a repeat gets the first answer (contract, section 4).
 * @throws `Problem` `idempotency_key_reused` for another request, `idempotency_key_in_use` while the
 * first one runs; whatever the work throws, and then the key is free again.
 */
export async function once<Result>(
  { database, hsm }: { readonly database: Database; readonly hsm: Hsm },
  request: RepeatableRequest | null,
  work: (connection: Connection) => Promise<Result>,
): Promise<Answer<Result>> {
  if (!request) return { result: await database.transaction(work), replayed: false }
  const keyed = await keyedRequest(hsm, request)
  const answer = await database.transaction(async (connection) => {
    const claimId = await claimKey(connection, keyed)
    if (claimId === null) {
      const remembered = await findRemembered(connection, keyed)
      if (!remembered?.answer) return null
      const { answer, claimId: first } = remembered
      return replayAnswer<Result>(hsm, keyed, { answer, claimId: first })
    }
    const result = await work(connection)
    await storeAnswer(connection, keyed, claimId, await sealAnswer(hsm, keyed, claimId, result))
    return { result, replayed: false }
  })
  if (!answer) throw new Problem('idempotency_key_reused')
  return answer
}
